/** A message of a request to the model, as far as tests look at it. */
export interface Message {
  role: string
  content: string | ContentBlock[]
}

type ContentBlock =
  | { type: 'text'; text: string }
  | { type: 'tool_result'; tool_use_id: string; is_error?: boolean; content?: string | ContentBlock[] }
  | { type: 'tool_use'; id: string; name: string; input: unknown }
  | { type: 'thinking' }

export interface ToldResult {
  toolUseId: string
  isError: boolean
  text: string
}

/** What the model was told since it last spoke. */
export interface Told {
  results: ToldResult[]
  texts: string[]
  /** The texts and the results, as text. */
  all: string[]
}

export function toldSince(messages: Message[]): Told {
  const last = messages.findLastIndex(({ role }) => role === 'assistant')
  const told = messages.slice(last + 1)
  const texts = told.flatMap(textsOf)
  const results = told.flatMap(({ content }) =>
    typeof content === 'string' ? [] : content.flatMap(resultOf),
  )
  return { results, texts, all: [...texts, ...results.map(({ text }) => text)] }
}

export function textsOf({ content }: Message): string[] {
  if (typeof content === 'string') return [content]
  return content.flatMap((block) => (block.type === 'text' ? [block.text] : []))
}

function resultOf(block: ContentBlock): ToldResult[] {
  if (block.type !== 'tool_result') return []
  const { tool_use_id: toolUseId, is_error: isError = false, content = '' } = block
  const text = typeof content === 'string' ? content : textsOf({ role: 'user', content }).join('\n')
  return [{ toolUseId, isError, text }]
}
