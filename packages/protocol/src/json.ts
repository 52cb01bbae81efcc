import { AskbackError } from './errors.js'

export type Json = string | number | boolean | null | Json[] | { [key: string]: Json }

export const MAX_JSON_DEPTH = 100
/** More than any limit on bytes lets through: a length alone costs nobody anything. */
const MAX_ENTRIES = 10_000_000

/**
 * Copies a value that must be JSON and survive the digest: what is later shown, stored and hashed can then no longer
 * be changed by whoever passed it in. Properties that are `undefined` count as left out.
 */
export function copyJson(value: unknown, path = 'value', maxDepth = MAX_JSON_DEPTH): Json {
  return copy(value, { path, keys: [], maxDepth }, 0)
}

/** RFC 8785: object keys in the order of their UTF-16 code units, no white space, numbers as ECMAScript writes them. */
export function canonicalJson(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  let text = '{'
  for (const key of Object.keys(value).sort()) {
    if (text.length > 1) text += ','
    text += `${JSON.stringify(key)}:${canonicalJson(value[key]!)}`
  }
  return `${text}}`
}

/** Where a copy is: `keys` up to its depth lead there. They make a path only for what is refused. */
interface Place {
  path: string
  keys: (string | number)[]
  maxDepth: number
}

function copy(value: unknown, place: Place, depth: number): Json {
  switch (typeof value) {
    case 'string':
      if (!value.isWellFormed()) refuse(place, depth, 'holds a lone surrogate')
      return value
    case 'number':
      if (!Number.isFinite(value)) refuse(place, depth, 'is not a finite number')
      if (Number.isInteger(value) && !Number.isSafeInteger(value)) {
        refuse(place, depth, 'is an integer beyond ±(2^53 − 1); send it as a string')
      }
      return value === 0 ? 0 : value
    case 'boolean':
      return value
    case 'object':
      break
    default: {
      const what = value === undefined ? 'undefined' : `a ${typeof value}`
      return refuse(place, depth, `is ${what}, which is not JSON`)
    }
  }
  if (value === null) return null
  if (depth >= place.maxDepth) refuse(place, depth, 'is nested too deeply')
  return Array.isArray(value) ? copyArray(value, place, depth) : copyObject(value, place, depth)
}

function copyArray(value: unknown[], place: Place, depth: number): Json[] {
  if (value.length > MAX_ENTRIES) refuse(place, depth, `has more than ${MAX_ENTRIES} entries`)
  // Of its very length: a list that grows keeps room for sixteen more. By index, as holes would be left out otherwise.
  // A list of another class would make a copy of that class, with a way of its own to become JSON.
  const result = (value.constructor === Array ? value.slice() : Array.from(value)) as Json[]
  for (let index = 0; index < value.length; index++) {
    place.keys[depth] = index
    result[index] = copy(value[index], place, depth + 1)
  }
  return result
}

function copyObject(value: object, place: Place, depth: number): Json {
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null) {
    refuse(place, depth, 'is not a plain object')
  }
  const result: { [key: string]: Json } = {}
  for (const key of Object.keys(value)) {
    const item = (value as Record<string, unknown>)[key]
    if (item === undefined) continue
    place.keys[depth] = key
    if (isPrototypeKey(key, item)) refuse(place, depth + 1, 'is a prototype key')
    if (!key.isWellFormed()) refuse(place, depth, 'has a key with a lone surrogate')
    result[key] = copy(item, place, depth + 1)
  }
  return result
}

function isPrototypeKey(key: string, value: unknown): boolean {
  if (key === '__proto__') return true
  return (
    key === 'constructor' && typeof value === 'object' && value !== null && Object.hasOwn(value, 'prototype')
  )
}

function refuse({ path, keys }: Place, depth: number, why: string): never {
  const steps = keys.slice(0, depth).map((key) => (typeof key === 'number' ? `[${key}]` : `.${key}`))
  throw new AskbackError('invalid_request', `${shorten(path + steps.join(''))} ${why}.`)
}

function shorten(path: string): string {
  return path.length > 200 ? `${path.slice(0, 200)}…` : path
}
