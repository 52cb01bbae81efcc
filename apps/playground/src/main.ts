import { demoAgent } from '@askback/agents/demo'
import { DirectTransport } from '@askback/client'
import { createDesk, createHost, memoryStore } from '@askback/core'
import { mount } from '@askback/web/mount'

// The playground: desk, agent and app in one page. Without a server, everything is lost on reload.
const desk = createDesk({ store: memoryStore(), onError: reportError })
const host = createHost({ desk, agents: [demoAgent()], onError: reportError })

// The address may name a session that was lost with the previous page.
location.hash = ''
mount(new DirectTransport(host, { actor: { id: 'you', name: 'You' } }), {
  personId: 'you',
  banner: 'Playground: the agent, its log and this page all run in your browser. A reload starts over.',
})
