import { spellOut, type FormField } from '@askback/protocol'

/** As one string with hidden characters spelled out: the options of a native list can hold nothing else. */
export function optionLabel({ value, label }: NonNullable<FormField['options']>[number]): string {
  return spellOut(label ?? String(value), 'prose')
}
