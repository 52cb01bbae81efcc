import type { PermissionMode } from '@askback/protocol'
import { selectOption } from './config-options.js'
import type { ConfigOption, OpenedSession } from './protocol.js'

/**
 * The agent's own modes. The protocol has two ways to offer them: the field `modes`, and a configuration option of the
 * category `mode`.
 */
export interface AgentModes {
  current: string
  offered: { id: string; name: string }[]
  /** The id of the configuration option that sets the mode; `null` where `session/set_mode` does. */
  configId: string | null
}

const PLAN_MODE = 'plan'

/** Modes in which agents ask a person. The first one that is offered is used. */
const ASKING_MODES = ['default', 'workspace-write']

/** Who decides in a mode that does not ask a person. */
type Decider = 'nobody' | 'model' | 'configuration'

/** Modes that ask nobody, in every agent that offers them. */
const UNASKING_MODES = new Set(['bypassPermissions', 'dontAsk', 'yolo', 'full-access', 'agent-full-access'])

/** Agents whose modes have another meaning than their ids say, by the name in the result of `initialize`. */
const DECIDER_BY_PROGRAM: Record<string, (mode: string) => Decider | null> = {
  '@agentclientprotocol/codex-acp': (mode) => (mode === 'agent' ? 'model' : null),
  '@agentclientprotocol/claude-agent-acp': (mode) => (mode === 'auto' ? 'model' : null),
  '@zed-industries/claude-code-acp': (mode) => (mode === 'auto' ? 'model' : null),
  // OpenCode allows everything by default, and the protocol does not show its configuration.
  OpenCode: () => 'configuration',
}

export function modesOf({ modes, configOptions }: Omit<OpenedSession, 'sessionId'>): AgentModes | null {
  if (modes) {
    const offered = modes.availableModes.map(({ id, name }) => ({ id, name: name ?? id }))
    return { current: modes.currentModeId, offered, configId: null }
  }
  return modeInOptions(configOptions ?? [])
}

/** `null` if none of the options is the mode. */
export function modeInOptions(options: ConfigOption[]): AgentModes | null {
  const option = selectOption(options, 'mode')
  if (!option) return null
  const offered = option.values.map(({ value, name }) => ({ id: value, name: name ?? value }))
  return { current: option.current, offered, configId: option.id }
}

/**
 * The agent's mode for a session's permission mode; `null` to leave it unchanged. Plan mode changes how the agent works, so the
 * agent must know of it. The other modes only say who decides, which the desk does: the agent just has to ask.
 */
export function modeFor(
  mode: PermissionMode,
  { offered }: AgentModes,
  { configured, initial }: { configured?: string | undefined; initial: string },
): string | null {
  const isOffered = (id: string) => offered.some((one) => one.id === id)
  if (mode === 'plan') return isOffered(PLAN_MODE) ? PLAN_MODE : null
  if (configured !== undefined) return configured
  return ASKING_MODES.find(isOffered) ?? (initial === PLAN_MODE ? null : initial)
}

/** A notice for people if the agent does not leave decisions to them in its current mode; `null` if it does. */
export function decidesAloneNotice(
  { current, offered }: AgentModes,
  { programName, name }: { programName: string | undefined; name: string },
): string | null {
  if (current === PLAN_MODE) return null
  const isKnown = programName !== undefined && Object.hasOwn(DECIDER_BY_PROGRAM, programName)
  const special = isKnown ? DECIDER_BY_PROGRAM[programName]?.(current) : null
  const decider = special ?? (UNASKING_MODES.has(current) ? 'nobody' : null)
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
