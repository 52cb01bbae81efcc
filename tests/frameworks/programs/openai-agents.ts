import { askQuestionTool } from './question-tool.js'
import { runWithAskback } from '@askback/client/openai-agents'
import { Agent, setTracingDisabled, tool, Usage, type Model, type ModelResponse } from '@openai/agents'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import * as z from 'zod'
import { deploy, report, serve, session, stateFile, type ScriptedCall } from './program.js'

setTracingDisabled(true)

function scriptedModel(calls: ScriptedCall[]): Model {
  return {
    async getResponse({ input }): Promise<ModelResponse> {
      const items = typeof input === 'string' ? [] : input
      const results = items.flatMap((item) => (item.type === 'function_call_result' ? [item.output] : []))
      const output: ModelResponse['output'] =
        results.length > 0
          ? [
              {
                type: 'message',
                role: 'assistant',
                status: 'completed',
                content: [{ type: 'output_text', text: report(results) }],
              },
            ]
          : calls.map(({ id, tool: name, input: given }) => ({
              type: 'function_call',
              callId: id,
              name,
              arguments: JSON.stringify(given),
              status: 'completed',
            }))
      return { usage: new Usage(), output }
    },
    // oxlint-disable-next-line require-yield -- the tests do not stream
    async *getStreamedResponse() {
      throw new Error('This model does not stream.')
    },
  }
}

serve(async ({ key, calls, timeout }) => {
  const agent = new Agent({
    name: 'deployer',
    model: scriptedModel(calls),
    tools: [
      tool({
        name: 'deploy',
        description: 'Deploys',
        parameters: z.object({ version: z.string() }),
        needsApproval: true,
        execute: deploy,
      }),
      tool({
        name: 'ask',
        description: 'Asks the user',
        parameters: z.object({ question: z.string(), choices: z.array(z.string()) }),
        execute: askQuestionTool,
      }),
    ],
  })
  const store = {
    load: (name: string) => (existsSync(stateFile(name)) ? readFileSync(stateFile(name), 'utf8') : null),
    save: (name: string, state: string) => writeFileSync(stateFile(name), state),
    remove: (name: string) => rmSync(stateFile(name), { force: true }),
  }
  const result = await runWithAskback(agent, 'Deploy it.', {
    session,
    key,
    store,
    ...(timeout !== undefined && { timeout }),
  })
  return String(result.finalOutput)
})
