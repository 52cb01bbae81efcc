import { streamWithAskback } from '@askback/client/mastra'
import { Agent } from '@mastra/core/agent'
import { Mastra } from '@mastra/core/mastra'
import { createTool } from '@mastra/core/tools'
import { LibSQLStore } from '@mastra/libsql'
import { simulateReadableStream } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import * as z from 'zod'
import { scripted } from './ai-model.js'
import { deploy, serve, session, stateFile, type ScriptedCall } from './program.js'

type StreamOf<Model extends MockLanguageModelV4> = Awaited<ReturnType<Model['doStream']>>['stream']
type StreamPart = StreamOf<MockLanguageModelV4> extends ReadableStream<infer Part> ? Part : never

/** Mastra streams, so what the model generates is sent in parts. */
function scriptedModel(calls: ScriptedCall[]) {
  const generate = scripted(calls)
  const doStream: MockLanguageModelV4['doStream'] = async (options) => {
    const { content, finishReason, usage } = await generate(options)
    const parts = content.flatMap((part): StreamPart[] =>
      part.type === 'tool-call'
        ? [{ ...part, toolCallId: part.toolCallId.replace(/-\d+$/, '') }]
        : [
            { type: 'text-start', id: '1' },
            { type: 'text-delta', id: '1', delta: part.text },
            { type: 'text-end', id: '1' },
          ],
    )
    const chunks: StreamPart[] = [
      { type: 'stream-start', warnings: [] },
      ...parts,
      { type: 'finish', finishReason, usage },
    ]
    return { stream: simulateReadableStream({ chunks }) }
  }
  return new MockLanguageModelV4({ doStream })
}

serve(async ({ key, calls, timeout }) => {
  const agent = new Agent({
    id: 'deployer',
    name: 'Deployer',
    instructions: 'Deploy.',
    // Its type wants a model that only streams.
    model: scriptedModel(calls) as never,
    tools: {
      deploy: createTool({
        id: 'deploy',
        description: 'Deploys',
        inputSchema: z.object({ version: z.string() }),
        requireApproval: true,
        execute: deploy,
      }),
      ask: createTool({
        id: 'ask',
        description: 'Asks the user',
        inputSchema: z.object({ question: z.string(), choices: z.array(z.string()).optional() }),
        suspendSchema: z.object({ question: z.string(), choices: z.array(z.string()).optional() }),
        resumeSchema: z.object({ answer: z.string() }),
        async execute(question, { agent: run }) {
          if (run?.resumeData) return run.resumeData.answer
          await run?.suspend(question)
          return 'suspended'
        },
      }),
    },
  })
  const storage = new LibSQLStore({ id: 'runs', url: `file:${stateFile('mastra.db')}` })
  const mastra = new Mastra({ agents: { deployer: agent }, storage, logger: false })
  let text = ''
  const options = { session, key, ...(timeout !== undefined && { timeout }) }
  for await (const part of streamWithAskback(mastra.getAgent('deployer'), 'Deploy it.', options)) {
    if (part?.type === 'text-delta') text += part.payload.text
  }
  return text
})
