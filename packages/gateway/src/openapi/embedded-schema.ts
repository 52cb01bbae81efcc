import { objectOf } from '@askback/protocol'
import { reference, type SchemaNode } from './schemas.js'

/** Where JSON Schemas keep what they refer to. */
const DEFINITIONS = ['$defs', 'definitions']

/**
 * The schema of a kind as components of a document. Its own references are relative to itself, so what it defines becomes components,
 * too. A schema that JSON Schema cannot describe accepts any JSON in the document; the gateway still checks it.
 */
export function embedded(name: string, described: SchemaNode | null): Record<string, SchemaNode> {
  if (!described) return { [name]: { description: 'Its schema cannot be described as JSON Schema.' } }
  const { $schema: _, $id: _id, ...root } = described
  const components: Record<string, SchemaNode> = {}
  for (const place of DEFINITIONS) {
    for (const [key, definition] of Object.entries(objectOf(root[place])))
      components[definitionName(name, key)] = moved(objectOf(definition), name)
    delete root[place]
  }
  return { [name]: moved(root, name), ...components }
}

/** A copy whose references point to the components of this name. */
function moved(schema: Readonly<SchemaNode>, name: string): SchemaNode {
  const copy = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(copy)
    return typeof value === 'object' && value !== null ? moved(objectOf(value), name) : value
  }
  return Object.fromEntries(
    Object.entries(schema).map(([key, value]) => [
      key,
      key === '$ref' && typeof value === 'string' ? movedReference(value, name) : copy(value),
    ]),
  )
}

function movedReference(target: string, name: string): string {
  const [, place, key] = /^#(?:\/([^/]+)\/([^/]+))?$/.exec(target) ?? []
  if (key === undefined) return reference(name)
  return DEFINITIONS.includes(place!) ? reference(definitionName(name, unescapePointer(key))) : target
}

/** Inverts the escapes of a JSON pointer in a URL. */
function unescapePointer(part: string): string {
  return decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~')
}

/** Names of components are letters, digits, `.`, `-` and `_`. */
function definitionName(name: string, key: string): string {
  return `${name}_${key.replaceAll(/[^\w.-]/g, '_')}`
}
