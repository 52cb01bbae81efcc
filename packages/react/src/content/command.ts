import type { Json } from '@askback/protocol'

/** The command line in the input of a shell tool. */
export function commandIn(input: Json): string | null {
  const command = fieldOf(input, 'command')
  return typeof command === 'string' ? command : null
}

export function fieldOf(input: Json, name: string): Json | undefined {
  const isObject = typeof input === 'object' && input !== null && !Array.isArray(input)
  return isObject && Object.hasOwn(input, name) ? input[name] : undefined
}

export function textOf(input: Json, name: string): string | undefined {
  const value = fieldOf(input, name)
  return typeof value === 'string' ? value : undefined
}
