import { fieldsOf, type FormField, type FormRequest, type FormValues, type Json } from '@askback/protocol'
import { SafeText } from '../content/safe-text.js'
import { optionLabel, valueOf } from './form-values.js'
import { useLabels, type Translate } from '../labels.js'

const MAX_CHARACTERS = 200

/** The values that were sent; without an answer, the message of the form. */
export function FormSummary({ values, request }: { values: FormValues | null; request: FormRequest }) {
  const t = useLabels()
  if (!values) {
    return (
      <p className="ab-summary ab-quiet" dir="auto">
        <SafeText text={shorten(request.message)} />
      </p>
    )
  }
  const filled = fieldsOf(request.schema).flatMap((field) => {
    const value = valueOf(values, field.name)
    return value === undefined ? [] : [{ field, text: textOf(field, value, t) }]
  })
  return (
    <dl className="ab-summary ab-summary-values">
      {filled.map(({ field, text }) => (
        <div key={field.name} className="ab-summary-line">
          <dt className="ab-quiet">
            <bdi>
              <SafeText text={field.label ?? field.name} />
            </bdi>
          </dt>
          <dd>
            <bdi>
              <SafeText text={text} />
            </bdi>
          </dd>
        </div>
      ))}
    </dl>
  )
}

function textOf(field: FormField, value: Json, t: Translate): string {
  if (value === true) return t('Yes')
  if (value === false) return t('No')
  const list = Array.isArray(value) ? value : [value]
  return shorten(list.map((each) => labelOf(field, each)).join(' · '))
}

function labelOf({ options }: FormField, value: Json): string {
  const option = options?.find((each) => each.value === value)
  if (option) return optionLabel(option)
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function shorten(text: string): string {
  return text.length > MAX_CHARACTERS ? `${text.slice(0, MAX_CHARACTERS)}…` : text
}
