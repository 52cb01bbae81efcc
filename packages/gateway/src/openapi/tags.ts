/** The groups of routes, in the order in which the document lists them. */
export const API_TAGS = [
  { name: 'Sessions', description: 'Conversations with agents, and their control.' },
  { name: 'Interactions', description: 'Requests to people: ask, wait, answer, cancel.' },
  { name: 'Tool calls', description: 'Answers by tool call, and reports of agents that run elsewhere.' },
  { name: 'Events', description: 'The logs, as streams and as pages.' },
  { name: 'Rules and audit', description: 'What is approved without asking, and who decided what.' },
  { name: 'People', description: 'Tokens and logins.' },
  { name: 'Connectors', description: 'Other surfaces where people answer.' },
  { name: 'MCP', description: 'The Model Context Protocol, for agents that ask with tools.' },
  { name: 'AG-UI', description: 'Sessions as agents of AG-UI, for its front ends.' },
  { name: 'Operations', description: 'Health, metrics, backups and this document.' },
] as const

export type ApiTag = (typeof API_TAGS)[number]['name']
