import { report, type ScriptedCall } from './program.js'

interface Prompt {
  prompt: readonly { role: string; content: unknown }[]
}

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
}

/** What the mock model of the AI SDK generates: the calls, and after their results a report of them. */
export function scripted(calls: ScriptedCall[]) {
  return async ({ prompt }: Prompt) => {
    const results = prompt.filter(({ role }) => role === 'tool').flatMap(({ content }) => content)
    if (results.length > 0) {
      const finishReason = { unified: 'stop', raw: undefined } as const
      return {
        content: [{ type: 'text' as const, text: report(results) }],
        finishReason,
        usage,
        warnings: [],
      }
    }
    const content = calls.map(({ id, tool, input }) => ({
      type: 'tool-call' as const,
      // The real models give each call another id when they are asked again.
      toolCallId: `${id}-${process.pid}`,
      toolName: tool,
      input: JSON.stringify(input),
    }))
    const finishReason = { unified: 'tool-calls', raw: undefined } as const
    return { content, finishReason, usage, warnings: [] }
  }
}
