import { z } from 'zod'
import { openApi } from '../openapi.js'
import { route, type Route } from '../route.js'

/** The document describes itself, too. */
export function withOpenApi(routes: Route[], version: string): Route[] {
  const all: Route[] = [
    ...routes,
    route({
      name: 'openApi',
      method: 'GET',
      path: '/api/openapi.json',
      who: 'person',
      summary: 'This document',
      answers: { 200: z.looseObject({ openapi: z.string() }) },
      handle: () => ({ status: 200, body: document() }),
    }),
  ]
  let made: Record<string, unknown> | undefined
  const document = () => (made ??= openApi(all, version))
  return all
}
