import type {
  CanUseTool,
  HookCallback,
  OnElicitation,
  Options,
  Query,
  SDKMessage,
  SDKUserMessage,
  query,
} from '@anthropic-ai/claude-agent-sdk'
import { expectTypeOf, it } from 'vitest'
import type * as ours from '@askback/agents/claude'

type Of<Type extends SDKMessage['type']> = Extract<SDKMessage, { type: Type }>

it('the SDK accepts the types that the adapter passes to it', () => {
  expectTypeOf<ours.CanUseTool>().toExtend<CanUseTool>()
  expectTypeOf<ours.OnElicitation>().toExtend<OnElicitation>()
  expectTypeOf<ours.PreToolUseHook>().toExtend<HookCallback>()
  expectTypeOf<ours.UserInput>().toExtend<SDKUserMessage>()
  expectTypeOf<ours.QueryOptions>().toExtend<Options>()
  expectTypeOf<typeof query>().toExtend<ours.ClaudeSdk['query']>()
})

it('the adapter’s types describe what the SDK yields', () => {
  expectTypeOf<Query>().toExtend<ours.ClaudeQuery>()
  expectTypeOf<Of<'result'>>().toExtend<ours.ResultMessage>()
  expectTypeOf<Of<'user'>>().toExtend<Pick<ours.UserMessage, 'type' | 'uuid'>>()
  expectTypeOf<Pick<Of<'assistant'>, 'type' | 'parent_tool_use_id'>>().toExtend<
    Pick<ours.AssistantMessage, 'type' | 'parent_tool_use_id'>
  >()
  expectTypeOf<Pick<Of<'stream_event'>, 'type' | 'parent_tool_use_id'>>().toExtend<
    Pick<ours.StreamMessage, 'type' | 'parent_tool_use_id'>
  >()
  type Block = Of<'assistant'>['message']['content'][number]
  type Known = Exclude<ours.AssistantBlock, { type: 'other' }>
  expectTypeOf<Extract<Block, { type: Known['type'] }>>().toExtend<Known>()
  type Event = Of<'stream_event'>['event']
  type KnownEvent = Extract<ours.StreamEvent, { type: 'message_start' | 'content_block_start' }>
  expectTypeOf<Extract<Event, { type: KnownEvent['type'] }>>().toExtend<KnownEvent>()
  type Delta = Extract<Event, { type: 'content_block_delta' }>['delta']
  type KnownDelta = Exclude<ours.StreamDelta, { type: 'other' }>
  expectTypeOf<Extract<Delta, { type: KnownDelta['type'] }>>().toExtend<KnownDelta>()
})
