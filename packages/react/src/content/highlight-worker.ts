import type { ToHighlight } from './highlight.js'
import { tokensOf } from './highlighter.js'
import { answerCalls } from './worker-call.js'

answerCalls(({ code, language }: ToHighlight) => tokensOf(code, language))
