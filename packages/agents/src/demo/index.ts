export { demoAgent, type DemoOptions } from './demo-agent.js'
export type { Script, Step } from './script.js'
export { tour } from './tour.js'
