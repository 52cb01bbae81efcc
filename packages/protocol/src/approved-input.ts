import { digestOf } from './digest.js'
import { AskbackError } from './errors.js'
import type { InteractionOf } from './guards.js'
import type { Json } from './json.js'

/**
 * What an approval allows: the input as it was shown, or as the person edited it. It checks once more that the input has the digest that
 * was approved, right before it is returned to run.
 *
 * @internal
 */
export function approvedInput({
  toolName,
  digest,
  updatedDigest,
  request,
  answer,
}: InteractionOf<'approval'>): Json {
  const { updatedInput: input = request.input } = answer ?? {}
  if (digestOf(toolName, input) === (updatedDigest ?? digest)) return input
  throw new AskbackError(
    'digest_mismatch',
    'The approved input is not the one that was shown. It will not run.',
  )
}
