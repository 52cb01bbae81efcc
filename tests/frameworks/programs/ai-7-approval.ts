import { askbackApproval, askbackQuestion } from '@askback/client/ai'
import { generateText, isStepCount, tool } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import * as z from 'zod'
import { scripted } from './ai-model.js'
import { deploy, serve, session } from './program.js'

serve(async ({ key, calls, timeout }) => {
  const asking = { key, ...(timeout !== undefined && { timeout }) }
  const { text } = await generateText({
    model: new MockLanguageModelV4({ doGenerate: scripted(calls) }),
    prompt: 'Deploy it.',
    stopWhen: isStepCount(5),
    tools: {
      deploy: tool({ inputSchema: z.object({ version: z.string() }), execute: deploy }),
      ask: tool({
        inputSchema: z.object({ question: z.string(), choices: z.array(z.string()).optional() }),
        execute: askbackQuestion(session, asking),
      }),
    },
    toolApproval: askbackApproval(session, { ...asking, tools: ['deploy'] }),
  })
  return text
})
