import type { FormField } from './form.js'
import { canonicalJson, type Json } from './json.js'

/**
 * The fields that are on screen with these values, which are those that an answer would send. A field that depends on a
 * hidden one is hidden too, whatever value there is for that; so are those that depend on each other in a circle.
 */
export function visibleFields(fields: readonly FormField[], values: ReadonlyMap<string, Json>): FormField[] {
  const byName = new Map(fields.map((field) => [field.name, field]))
  const known = new Map<FormField, boolean>()

  const isVisible = (field: FormField): boolean => {
    const seen = known.get(field)
    if (seen !== undefined) return seen
    known.set(field, false)
    const parent = field.visibleWhen && byName.get(field.visibleWhen.field)
    const visible = !parent || (isVisible(parent) && holds(field, parent, values.get(parent.name)))
    known.set(field, visible)
    return visible
  }
  return fields.filter(isVisible)
}

/** For several choices it is enough that one of them fits. `null` stands for left out. */
function holds(field: FormField, parent: FormField, value: Json | undefined): boolean {
  const { equals, in: list } = field.visibleWhen!
  const wanted = new Set((list ?? [equals ?? null]).map(canonicalJson))
  // A box that nobody ticked is not ticked.
  const actual = value ?? (parent.type === 'checkbox' ? false : null)
  if (wanted.has(canonicalJson(actual))) return true
  return Array.isArray(actual) && actual.some((entry) => wanted.has(canonicalJson(entry)))
}
