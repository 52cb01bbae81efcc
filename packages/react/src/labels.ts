import { createContext, useContext } from 'react'
import type { Label } from './label-catalogue.js'

export type { Label } from './label-catalogue.js'

/** Texts to show instead of the English ones, for example in another language. What is missing stays English. */
export type Labels = Readonly<Partial<Record<Label, string>>>

/** Returns the text to show for a label, with its values in place of the names in braces. */
export type Translate = (label: Label, values?: Readonly<Record<string, string | number>>) => string

export function translator(labels: Labels): Translate {
  return (label, values = {}) =>
    (labels[label] ?? label).replaceAll(/\{(\w+)\}/g, (braces, name: string) =>
      Object.hasOwn(values, name) ? String(values[name]) : braces,
    )
}

/** Provided by `AskbackProvider`. */
export const TranslateContext = createContext<Translate>(translator({}))

/**
 * The texts of the components, as `labels` of `AskbackProvider` replaces them. For components of your own that should use the same words.
 *
 * @example
 * const t = useLabels()
 * return <button>{t('Try again')}</button>
 */
export function useLabels(): Translate {
  return useContext(TranslateContext)
}
