import * as z from 'zod'
import { AskbackError } from './errors.js'
import { isRecord } from './guards.js'

/** A JSON value. */
export type Json = string | number | boolean | null | Json[] | { [key: string]: Json }

/**
 * Any JSON value that is present. It checks no more than that: `copyJson` has checked the whole body before, with messages
 * that say where in the value the problem is.
 */
export const json = z.custom<Json>((value) => value !== undefined, 'is missing')

/** The deepest nesting of JSON that is accepted. */
export const MAX_JSON_DEPTH = 100
/** A sparse array costs its sender nothing, whatever its `length`. No body within the byte limits has this many entries. */
const MAX_ARRAY_LENGTH = 10_000_000

/**
 * Copies a value that must be JSON and must survive the digest (L12). What is shown, stored and hashed afterwards is the
 * copy, so the caller can no longer change it. Properties that are `undefined` are left out.
 *
 * Throws `invalid_request` with the path of the first part that is not acceptable: not JSON, a number that is not finite or
 * an integer beyond ±(2^53 − 1), a lone surrogate, a prototype key, or more than `maxDepth` levels.
 *
 * @param path - how the error message names the value
 *
 * @example
 * copyJson({ a: [1, Number.NaN] }, 'input') // throws "input.a[1] is not a finite number."
 */
export function copyJson(value: unknown, path = 'value', maxDepth = MAX_JSON_DEPTH): Json {
  return copy(value, { path, keys: [], maxDepth }, 0)
}

/** Where in the value the copy is. The first `depth` entries of `keys` lead there; a path is only built for an error. */
interface CopyPosition {
  path: string
  keys: (string | number)[]
  maxDepth: number
}

function copy(value: unknown, position: CopyPosition, depth: number): Json {
  switch (typeof value) {
    case 'string':
      if (!value.isWellFormed()) refuse(position, depth, 'holds a lone surrogate')
      return value
    case 'number':
      if (!Number.isFinite(value)) refuse(position, depth, 'is not a finite number')
      if (Number.isInteger(value) && !Number.isSafeInteger(value)) {
        refuse(position, depth, 'is an integer beyond ±(2^53 − 1); send it as a string')
      }
      // Canonical JSON writes −0 as 0.
      return value === 0 ? 0 : value
    case 'boolean':
      return value
    case 'object':
      break
    default: {
      const what = value === undefined ? 'undefined' : `a ${typeof value}`
      return refuse(position, depth, `is ${what}, which is not JSON`)
    }
  }
  if (value === null) return null
  if (depth >= position.maxDepth) refuse(position, depth, 'is nested too deeply')
  return Array.isArray(value) ? copyArray(value, position, depth) : copyObject(value, position, depth)
}

function copyArray(value: unknown[], position: CopyPosition, depth: number): Json[] {
  if (value.length > MAX_ARRAY_LENGTH) refuse(position, depth, `has more than ${MAX_ARRAY_LENGTH} entries`)
  // `slice` allocates exactly the needed length, where `push` would reserve room for more. It keeps the class of the array,
  // so arrays of a subclass, which may have a `toJSON` of their own, are copied with `Array.from`.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- every entry is replaced below
  const result = (value.constructor === Array ? value.slice() : Array.from(value)) as Json[]
  // By index: `forEach` and `map` skip holes, which must be refused.
  for (let index = 0; index < value.length; index++) {
    position.keys[depth] = index
    result[index] = copy(value[index], position, depth + 1)
  }
  return result
}

function copyObject(value: object, position: CopyPosition, depth: number): Json {
  const prototype: unknown = Object.getPrototypeOf(value)
  // `Object.prototype` of another realm is accepted too: it also has no prototype.
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null) {
    refuse(position, depth, 'is not a plain object')
  }
  const result: { [key: string]: Json } = {}
  for (const key of Object.keys(value)) {
    // Read once: a getter could show one value and run another.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- one of its own keys
    const item = (value as Record<string, unknown>)[key]
    if (item === undefined) continue
    position.keys[depth] = key
    if (isPrototypeKey(key, item)) refuse(position, depth + 1, 'is a prototype key')
    if (!key.isWellFormed()) refuse(position, depth, 'has a key with a lone surrogate')
    result[key] = copy(item, position, depth + 1)
  }
  return result
}

function isPrototypeKey(key: string, value: unknown): boolean {
  if (key === '__proto__') return true
  return (
    key === 'constructor' && typeof value === 'object' && value !== null && Object.hasOwn(value, 'prototype')
  )
}

function refuse({ path, keys }: CopyPosition, depth: number, why: string): never {
  const steps = keys.slice(0, depth).map((key) => (typeof key === 'number' ? `[${key}]` : `.${key}`))
  throw new AskbackError('invalid_request', `${shorten(path + steps.join(''))} ${why}.`)
}

function shorten(path: string): string {
  return path.length > 200 ? `${path.slice(0, 200)}…` : path
}

/**
 * The value as an object with unknown properties; an empty one if it is no object.
 *
 * @internal
 */
export function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  return isRecord(value) ? value : {}
}

/**
 * The value as a list of unknown entries; an empty one if it is no list.
 *
 * @internal
 */
export function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? (value as unknown[]) : []
}
