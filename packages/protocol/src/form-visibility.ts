import type { FormField } from './form.js'
import { canonicalJson, type Json } from './json.js'

/**
 * The fields that are on screen with these values, which are those that an answer would send. A field that depends on a
 * hidden one is hidden too, whatever value there is for that; so are those that depend on each other in a circle.
 */
export function visibleFields(fields: readonly FormField[], values: ReadonlyMap<string, Json>): FormField[] {
  const byName = new Map(fields.map((field) => [field.name, field]))
  const known = new Map<FormField, boolean>()
  // Once for each field that others depend on: a long value would cost as often as there are those.
  const compared = new Map<FormField, ReadonlySet<string>>()

  const holds = ({ visibleWhen }: FormField, parent: FormField): boolean => {
    const actual = compared.get(parent) ?? comparable(parent, values.get(parent.name))
    compared.set(parent, actual)
    const { equals, in: list } = visibleWhen!
    return (list ?? [equals ?? null]).some((wanted) => actual.has(canonicalJson(wanted)))
  }

  const isVisible = (field: FormField): boolean => {
    const seen = known.get(field)
    if (seen !== undefined) return seen
    known.set(field, false)
    const parent = field.visibleWhen && byName.get(field.visibleWhen.field)
    const visible = !parent || (isVisible(parent) && holds(field, parent))
    known.set(field, visible)
    return visible
  }
  return fields.filter(isVisible)
}

/**
 * What a condition can be compared with: the value, and for several choices each of them, as canonical JSON. `null` stands for
 * left out.
 */
function comparable(field: FormField, value: Json | undefined): ReadonlySet<string> {
  // A box that nobody ticked is not ticked.
  const actual = value ?? (field.type === 'checkbox' ? false : null)
  return new Set([actual, ...(Array.isArray(actual) ? actual : [])].map((each) => canonicalJson(each)))
}
