/**
 * The entry point `askback/config`. A settings file imports it wherever it lies: the command that loads the file answers this
 * import itself, so nothing has to be installed beside the file.
 */
import type { InteractionKind } from '@askback/core'
import type { GatewaySettings } from '@askback/gateway'

export { defineInteraction, type AcceptedAnswer, type InteractionKind, type Reprompt } from '@askback/core'
export { AskbackError } from '@askback/protocol'
export * as z from 'zod'

/** The settings of `askback serve`. All of them are optional. */
export interface AskbackConfig extends GatewaySettings {
  /** Kinds of requests in addition to `question`, `approval`, `plan_review` and `form`. */
  kinds?: InteractionKind[]
  /** ES modules that draw requests in the web app: their files by kind, relative to the settings file. */
  renderers?: Record<string, string>
}

/**
 * Gives the settings their types. The file exports the result as its default.
 *
 * @example
 * // askback.config.ts
 * import { defineConfig } from 'askback/config'
 * import { timeSlot } from './time-slot.ts'
 *
 * export default defineConfig({ kinds: [timeSlot], timeout: '2h' })
 */
export function defineConfig(config: AskbackConfig): AskbackConfig {
  return config
}
