import type { HighlightInput } from './code-block.js'
import { tokensOf } from './highlighter.js'
import { serveCalls } from './worker-call.js'

serveCalls(({ code, language }: HighlightInput) => tokensOf(code, language))
