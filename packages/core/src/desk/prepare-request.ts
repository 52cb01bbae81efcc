import {
  AskbackError,
  canonicalJson,
  copyJson,
  digestOf,
  digestOfCanonical,
  onTimeout as onTimeoutSchema,
  type ApprovalRequest,
  type Json,
  type OpenBody,
} from '@askback/protocol'
import type { PreparedRequest } from '../decide/command.js'
import { applyAnswer } from '../decide/settle.js'
import { atOnce, forSchema, parseWith, type InteractionKind } from '../kinds/kinds.js'

export const DEFAULT_TIMEOUT_MS = 10 * 60_000
const encoder = new TextEncoder()
const LONGEST_TIMEOUT_MS = 10 * 365 * 24 * 3_600_000

/** Whose credential asks. Code in this process counts as a person's. */
export type Role = 'agent' | 'person'

/** Everything about a request that does not depend on the session: parsed, copied, measured and hashed. */
export function prepareRequest(
  input: Pick<OpenBody, 'kind' | 'toolName' | 'request' | 'timeoutMs' | 'onTimeout'>,
  options: {
    kind: (name: string) => InteractionKind | undefined
    maxBytes: number
    defaultTimeoutMs: number | null
    role?: Role | undefined
  },
): PreparedRequest {
  const kind = options.kind(input.kind)
  if (!kind) {
    throw new AskbackError('unknown_kind', `Nobody has defined the kind ${JSON.stringify(input.kind)}.`)
  }
  const request = copyJson(input.request, 'request')
  const text = canonicalJson(request)
  if (isLargerThan(options.maxBytes, text)) {
    throw new AskbackError('too_large', `The request is larger than ${options.maxBytes} bytes.`)
  }
  const parsed = parseWith(kind.request, forSchema(kind, request), {
    code: 'invalid_request',
    what: 'the request',
  })
  atOnce(kind, 'checkRequest', kind.checkRequest?.(parsed))
  const toolName = input.toolName ?? kind.kind
  const { timeoutMs = options.defaultTimeoutMs } = input
  checkTimeout(timeoutMs, 'timeoutMs')
  return {
    kind,
    toolName,
    request,
    digest:
      kind.kind === 'approval'
        ? digestOf(toolName, (request as ApprovalRequest).input)
        : digestOfCanonical(toolName, text),
    timeoutMs,
    onTimeout: declared(kind, request, input.onTimeout, options.role),
  }
}

function declared(
  kind: InteractionKind,
  request: Json,
  value: unknown,
  role: Role | undefined,
): PreparedRequest['onTimeout'] {
  if (value === undefined) return 'deny'
  const parsed = parseWith(onTimeoutSchema, copyJson(value, 'onTimeout'), {
    code: 'invalid_request',
    what: 'onTimeout',
  })
  if (typeof parsed === 'string') return parsed
  if (role === 'agent' && (kind.kind === 'approval' || kind.kind === 'plan_review')) {
    throw new AskbackError('forbidden', `An agent may not declare the answer to its own ${kind.kind}.`)
  }
  const outcome = applyAnswer(kind, request, parsed.answer)
  if (!('errors' in outcome)) return parsed
  throw new AskbackError(
    'invalid_answer',
    'The declared default answer does not pass the form’s own checks.',
    {
      details: { errors: outcome.errors },
    },
  )
}

function isLargerThan(maxBytes: number, text: string): boolean {
  // A UTF-16 code unit becomes one to three bytes, so most requests need not be encoded to know.
  return text.length * 3 > maxBytes && encoder.encode(text).length > maxBytes
}

export function checkTimeout(value: unknown, name: string): void {
  if (value === null) return
  if (typeof value === 'number' && Number.isInteger(value) && value > 0 && value <= LONGEST_TIMEOUT_MS) return
  throw new AskbackError(
    'invalid_request',
    `${name} must be a whole number of milliseconds above 0 and at most ten years, or null to wait forever.`,
  )
}
