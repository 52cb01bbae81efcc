export * from './approval.js'
export * from './approved-input.js'
export * from './async-queue.js'
export * from './audit.js'
export * from './backoff.js'
export * from './clock.js'
export { skeleton } from './confusables.js'
export { canonicalJson, digestOf, digestOfCanonical, sha256Hex } from './digest.js'
export * from './duration.js'
export * from './errors.js'
export * from './events.js'
export * from './form.js'
export * from './form-from-schema.js'
export * from './guards.js'
export * from './hidden-characters.js'
export * from './interaction.js'
export * from './json.js'
export * from './kind-prompt.js'
export * from './lifecycle.js'
export * from './login.js'
export * from './plan-review.js'
export * from './question.js'
export * from './reduce.js'
export * from './requests.js'
export * from './session.js'
export * from './standard-schema.js'
export {
  CALL_FORGOTTEN_MS,
  emptyState,
  pendingOf,
  sessionOf,
  STATE_VERSION,
  stateFromJson,
  stateToJson,
  type SessionState,
  type SessionStateJson,
  type ToolCall,
  type Turn,
  type TurnItem,
} from './state.js'
export * from './text-routing.js'
