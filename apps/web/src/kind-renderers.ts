import type { Transport } from '@askback/client'
import { moduleRenderer, type Renderers } from '@askback/react'
import { useEffect, useState } from 'react'
import { base } from './base.js'

/**
 * The components for kinds of this gateway that the operator has written a module for. Until they are known, and if they cannot be
 * read, such a kind is drawn as a form.
 */
export function useKindRenderers(transport: Transport): Renderers {
  const [renderers, setRenderers] = useState<Renderers>({})
  useEffect(() => {
    let isOutdated = false
    readRenderers(transport).then(
      (found) => void (isOutdated || setRenderers(found)),
      // Not signed in, offline, or an older gateway: every request says so by itself.
      () => undefined,
    )
    return () => {
      isOutdated = true
    }
  }, [transport])
  return renderers
}

async function readRenderers(transport: Transport): Promise<Renderers> {
  const kinds = (await transport.kinds?.()) ?? []
  return Object.fromEntries(
    kinds.flatMap(({ kind, title, renderer }) => {
      if (renderer === undefined) return []
      const url = new URL(renderer, base).href
      return [[kind, moduleRenderer(() => import(/* @vite-ignore */ url), title)]]
    }),
  )
}
