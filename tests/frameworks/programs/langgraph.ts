import { invokeWithAskback } from '@askback/client/langgraph'
import { BaseChatModel } from '@langchain/core/language_models/chat_models'
import { AIMessage, ToolMessage, type BaseMessage } from '@langchain/core/messages'
import { interrupt } from '@langchain/langgraph'
import { createAgent, humanInTheLoopMiddleware, tool } from 'langchain'
import * as z from 'zod'
import { FileSaver } from './file-saver.js'
import { deploy, report, serve, session, stateFile, type ScriptedCall } from './program.js'

class ScriptedModel extends BaseChatModel {
  readonly #calls: ScriptedCall[]

  constructor(calls: ScriptedCall[]) {
    super({})
    this.#calls = calls
  }

  _llmType(): string {
    return 'scripted'
  }

  override bindTools(): this {
    return this
  }

  async _generate(messages: BaseMessage[]) {
    const results = messages.flatMap((message) => (ToolMessage.isInstance(message) ? [message.content] : []))
    const message =
      results.length > 0
        ? new AIMessage(report(results))
        : new AIMessage({
            content: '',
            tool_calls: this.#calls.map(({ id, tool: name, input }) => ({
              id,
              name,
              args: input,
              type: 'tool_call' as const,
            })),
          })
    return { generations: [{ message, text: '' }] }
  }
}

serve(async ({ key, calls, timeout }) => {
  const agent = createAgent({
    model: new ScriptedModel(calls),
    checkpointer: new FileSaver(stateFile(key)),
    tools: [
      tool(deploy, { name: 'deploy', description: 'Deploys', schema: z.object({ version: z.string() }) }),
      tool((question: { question: string; choices?: string[] | undefined }) => String(interrupt(question)), {
        name: 'ask',
        description: 'Asks the user',
        schema: z.object({ question: z.string(), choices: z.array(z.string()).optional() }),
      }),
    ],
    middleware: [humanInTheLoopMiddleware({ interruptOn: { deploy: true } })],
  })
  const input = { messages: [{ role: 'user', content: 'Deploy it.' }] }
  const config = { configurable: { thread_id: key } }
  const result = await invokeWithAskback(agent, input, config, {
    session,
    ...(timeout !== undefined && { timeout }),
  })
  return JSON.stringify(result.messages.at(-1)?.content)
})
