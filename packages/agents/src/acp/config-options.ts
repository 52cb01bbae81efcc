import type { ConfigOption, ConfigValue, OpenedSession } from './protocol.js'

/** A setting of the agent's session with a list of values. */
interface SelectOption {
  id: string
  current: string
  values: ConfigValue[]
}

/** How the agent's model is set. The protocol has two ways: a configuration option, and a method of its own. */
export interface ModelSetting {
  current: string
  offered: string[]
  /** The id of the configuration option; `null` where `session/set_model` sets it. */
  configId: string | null
}

/** The setting of a category, such as `mode` or `model`; `null` if the agent has none. */
export function selectOption(options: ConfigOption[], category: string): SelectOption | null {
  const option = options.find((one) => one.category === category && one.type === 'select')
  if (!option || typeof option.currentValue !== 'string') return null
  const values = (option.options ?? []).flatMap((one) => ('options' in one ? one.options : [one]))
  return { id: option.id, current: option.currentValue, values }
}

/** `null` if the agent does not let clients choose its model. */
export function modelSettingOf({ models, configOptions }: OpenedSession): ModelSetting | null {
  const option = selectOption(configOptions ?? [], 'model')
  if (option) {
    return { current: option.current, offered: option.values.map(({ value }) => value), configId: option.id }
  }
  if (!models) return null
  const offered = models.availableModels.map(({ modelId }) => modelId)
  return { current: models.currentModelId, offered, configId: null }
}
