import type { HighlightInput } from './shiki-highlighter.js'
import { tokensOf } from './shiki-tokens.js'
import { serveCalls } from './worker-call.js'

serveCalls(({ code, language }: HighlightInput) => tokensOf(code, language))
