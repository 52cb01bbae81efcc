import { createDesk, createHost, memoryStore, type Desk, type OpenInput, type Store } from '@askback/core'
import type { Interaction, Json } from '@askback/protocol'
import { expect, onTestFinished } from 'vitest'
import { memorySurface, type MemorySurface } from '../testing/memory-surface.js'
import type { Connector } from './connector.js'
import { connectorDesk, type ConnectorDeskOptions } from './connector-desk.js'
import { runConnector, type ConnectorOptions, type RunningConnector } from './runner.js'

export interface TestConnector {
  store: Store
  desk: Desk
  surface: MemorySurface
  running: RunningConnector
  /** Opens an interaction in the session `s`. */
  open: (kind: string, request: Json | object, more?: Partial<OpenInput>) => Promise<Interaction>
  /** Another connector on the same surface and store, as after a restart. */
  run: () => RunningConnector
}

/** A desk in memory with the session `s`, and a surface whose place `here` shows all sessions. Errors fail the test. */
export async function testConnector(
  options: Partial<Pick<ConnectorOptions, 'clock'>> & {
    store?: Store
    sessions?: ConnectorDeskOptions['sessions']
    adapt?: (connector: Connector) => void
  } = {},
): Promise<TestConnector> {
  const { store = memoryStore(), sessions = 'all', adapt, ...rest } = options
  const errors: unknown[] = []
  const onError = (error: unknown) => void errors.push(error)
  const desk = createDesk({ store, onError })
  const host = createHost({ desk, onError })
  await desk.createSession({ id: 's' })
  const surface = memorySurface()
  const started: RunningConnector[] = []
  const run = () => {
    const connector = surface.make()
    adapt?.(connector)
    const running = runConnector({
      connector,
      desk: connectorDesk(host, store, { sessions }),
      onError,
      ...rest,
    })
    started.push(running)
    return running
  }
  onTestFinished(async () => {
    for (const running of started) await running.stop()
    await host.close()
    expect(errors).toEqual([])
  })
  const running = run()
  await running.ready
  await running.context.setPlace(surface.place, { sessions: 'all', current: 's' })
  return {
    store,
    desk,
    surface,
    running,
    run,
    open: async (kind, request, more = {}) =>
      (await desk.open({ sessionId: 's', kind, request: request as Json, ...more })).interaction,
  }
}
