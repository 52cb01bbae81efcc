import type { ServerResponse } from 'node:http'
import { randomUUID } from 'node:crypto'
import { pieces, type Block, type Reply } from './scenario.js'

/** Writes a reply the way the Messages API streams it. */
export function streamReply(response: ServerResponse, { say, ends = 'well' }: Reply, model: string): void {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' })
  const write = (type: string, data: object) =>
    response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`)
  const usage = {
    input_tokens: 10,
    output_tokens: 1,
    cache_read_input_tokens: 0,
    cache_creation_input_tokens: 0,
  }
  const id = `msg_${randomUUID().replaceAll('-', '')}`
  const message = { id, type: 'message', role: 'assistant', model, content: [], stop_reason: null, usage }
  write('message_start', { message: { ...message, stop_sequence: null } })
  for (const [index, block] of say.entries()) {
    write('content_block_start', { index, content_block: startOf(block) })
    const deltas = deltasOf(block)
    const isCut = ends !== 'well' && index === say.length - 1
    for (const delta of isCut ? deltas.slice(0, Math.ceil(deltas.length / 2)) : deltas)
      write('content_block_delta', { index, delta })
    if (isCut) break
    write('content_block_stop', { index })
  }
  // A connection that stays open and silent.
  if (ends === 'never') return
  if (ends === 'cut') return void response.end()
  const stop_reason = say.some((block) => 'tool' in block) ? 'tool_use' : 'end_turn'
  write('message_delta', { delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 5 } })
  write('message_stop', {})
  response.end()
}

function startOf(block: Block): object {
  if ('text' in block) return { type: 'text', text: '' }
  if ('thinking' in block) return { type: 'thinking', thinking: '', signature: '' }
  const id = block.id ?? `toolu_${randomUUID().replaceAll('-', '').slice(0, 24)}`
  return { type: 'tool_use', id, name: block.tool, input: {} }
}

function deltasOf(block: Block): object[] {
  if ('text' in block) return pieces(block.text).map((text) => ({ type: 'text_delta', text }))
  if ('thinking' in block) {
    const thoughts = pieces(block.thinking).map((thinking) => ({ type: 'thinking_delta', thinking }))
    return [...thoughts, { type: 'signature_delta', signature: 'c2lnbmF0dXJl' }]
  }
  return pieces(JSON.stringify(block.input)).map((partial_json) => ({
    type: 'input_json_delta',
    partial_json,
  }))
}
