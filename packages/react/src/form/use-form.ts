import {
  formAnswer,
  formRequest,
  type FormErrors,
  type FormField,
  type FormRequest,
  type FormValues,
  type Interaction,
  type Json,
} from '@askback/protocol'
import { useMemo, useState } from 'react'
import { useInteraction, type InteractionControl } from '../interaction/use-interaction.js'
import { useDraft } from '../use-draft.js'
import { fieldError, shownFields, valueOf, valuesToSend } from './form-values.js'

export interface FormControl extends InteractionControl {
  request: FormRequest
  values: FormValues
  /** Those that are on screen with the values as they are. */
  visible: ReadonlySet<FormField>
  /** What the gateway refused, until it is changed, and what is wrong here once somebody tried to send it. */
  errors: FormErrors
  setValue: (name: string, value: Json) => void
  /** Sends the values, or names the first field that keeps it from that. */
  submit: () => string | null
}

/** A form without any looks. `null` where the request is none. */
export function useForm(interaction: Interaction, open?: boolean): FormControl | null {
  const control = useInteraction(interaction, open)
  const request = useMemo(() => {
    const parsed = formRequest.safeParse(interaction.request)
    return parsed.success ? parsed.data : null
  }, [interaction.request])
  const [draft, setDraft] = useDraft(control.interaction, isDraft)
  const [touched, setTouched] = useState<ReadonlySet<string>>(new Set())
  const [hasTried, setTried] = useState(false)
  const values = useMemo(
    () => ({ ...request?.initialValues, ...typedBefore(interaction.progress), ...draft }),
    [request, interaction.progress, draft],
  )
  const visible = useMemo(() => (request ? shownFields(request, values) : null), [request, values])
  if (!request || !visible) return null

  const errors: FormErrors = {}
  for (const field of visible) {
    const refused = touched.has(field.name) ? undefined : interaction.errors?.[field.name]
    const error = (hasTried ? fieldError(field, valueOf(values, field.name)) : null) ?? refused
    if (error !== undefined) errors[field.name] = error
  }

  return {
    ...control,
    request,
    values,
    visible,
    errors,
    setValue(name, value) {
      setTouched(new Set([...touched, name]))
      setDraft({ ...draft, [name]: value })
    },
    submit() {
      setTried(true)
      const wrong = [...visible].find((field) => fieldError(field, valueOf(values, field.name)) !== null)
      if (wrong) return wrong.name
      if (control.canAnswer) void control.respond({ values: valuesToSend(visible, values) })
      return null
    },
  }
}

/** A reprompt carries the answer that did not pass. */
function typedBefore(progress: Json | undefined): FormValues {
  const parsed = formAnswer.safeParse(progress)
  return parsed.success ? parsed.data.values : {}
}

function isDraft(value: unknown): value is FormValues {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
