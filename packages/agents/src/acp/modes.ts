import type { PermissionMode } from '@askback/protocol'
import type { ConfigOption, OpenedSession } from './protocol.js'

/**
 * An agent's own modes. The protocol has two ways to offer them: `modes`, and a configuration option of the category
 * `mode`.
 */
export interface Modes {
  current: string
  offered: { id: string; name: string }[]
  /** Of the configuration option that sets the mode; `null` where `session/set_mode` does. */
  configId: string | null
}

const PLAN = 'plan'

/** Modes in which agents ask a person, the first that is offered is taken. */
const ASKING = ['default', 'workspace-write']

type Decider = 'nobody' | 'model' | 'configuration'

/** Modes that ask nobody, whichever agent offers them. */
const ASKS_NOBODY = new Set(['bypassPermissions', 'dontAsk', 'yolo', 'full-access', 'agent-full-access'])

/** Agents whose modes mean something else than their ids say, by the name that `initialize` gives. */
const BY_AGENT: Record<string, (mode: string) => Decider | null> = {
  '@agentclientprotocol/codex-acp': (mode) => (mode === 'agent' ? 'model' : null),
  '@agentclientprotocol/claude-agent-acp': (mode) => (mode === 'auto' ? 'model' : null),
  '@zed-industries/claude-code-acp': (mode) => (mode === 'auto' ? 'model' : null),
  // By default it allows everything, and the protocol does not tell what its configuration says.
  OpenCode: () => 'configuration',
}

export function modesOf({ modes, configOptions }: Omit<OpenedSession, 'sessionId'>): Modes | null {
  if (modes) {
    const offered = modes.availableModes.map(({ id, name }) => ({ id, name: name ?? id }))
    return { current: modes.currentModeId, offered, configId: null }
  }
  return modesIn(configOptions ?? [])
}

/** `null` where none of the options is the mode. */
export function modesIn(options: ConfigOption[]): Modes | null {
  const option = options.find(({ category, type }) => category === 'mode' && type === 'select')
  if (!option || typeof option.currentValue !== 'string') return null
  const flat = (option.options ?? []).flatMap((one) => ('options' in one ? one.options : [one]))
  const offered = flat.map(({ value, name }) => ({ id: value, name: name ?? value }))
  return { current: option.currentValue, offered, configId: option.id }
}

/**
 * The agent's mode for a session's permission mode; `null` to leave it as it is. Plan mode is a way to work, so the agent
 * must know of it. All others only say who decides, which is Askback's to know: the agent just has to ask.
 */
export function modeFor(
  mode: PermissionMode,
  { offered }: Modes,
  { wanted, startedIn }: { wanted?: string | undefined; startedIn: string },
): string | null {
  const isOffered = (id: string) => offered.some((one) => one.id === id)
  if (mode === 'plan') return isOffered(PLAN) ? PLAN : null
  if (wanted !== undefined) return wanted
  return ASKING.find(isOffered) ?? (startedIn === PLAN ? null : startedIn)
}

/** What a person must know of an agent that does not leave decisions to them in this mode; `null` if it does. */
export function decidesAlone(
  { current, offered }: Modes,
  { agent, name }: { agent: string | undefined; name: string },
): string | null {
  if (current === PLAN) return null
  const own = agent !== undefined && Object.hasOwn(BY_AGENT, agent) ? BY_AGENT[agent] : undefined
  const decider = own?.(current) ?? (ASKS_NOBODY.has(current) ? 'nobody' : null)
  const mode = offered.find(({ id }) => id === current)?.name ?? current
  switch (decider) {
    case null:
      return null
    case 'model':
      return `${name} decides by itself in its mode “${mode}”: a model approves what it does, not you.`
    case 'nobody':
      return `${name} decides by itself in its mode “${mode}”: it asks nobody before it runs commands or edits files.`
    case 'configuration':
      return `${name} decides by itself what to ask: it runs commands and edits files without asking you, unless its own configuration says “ask”.`
  }
}
