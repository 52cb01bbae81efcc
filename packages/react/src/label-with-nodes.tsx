import { Fragment, type ReactNode } from 'react'
import { useLabels, type Label } from './labels.js'

export interface LabelWithNodesProps {
  label: Label
  /** By the name that is in braces in the label. */
  nodes: Readonly<Record<string, ReactNode>>
}

/** A label whose values are elements. */
export function LabelWithNodes({ label, nodes }: LabelWithNodesProps) {
  const parts = useLabels()(label).split(/\{(\w+)\}/)
  return parts.map((part, index) => <Fragment key={index}>{index % 2 === 1 ? nodes[part] : part}</Fragment>)
}
