export { fakeClock, type FakeClock } from '@askback/protocol/testing'
export {
  acceptPlan,
  adjustPlan,
  approve,
  deny,
  fill,
  first,
  pick,
  write,
  type AnswerRule,
} from './answers.js'
export { autoAnswer, type AnswerRules, type AutoAnswer, type AutoAnswerOptions } from './auto-answer.js'
export { person, type PersonOptions, type ScriptedPerson } from './person.js'
export type { AnsweringTarget } from './target.js'
