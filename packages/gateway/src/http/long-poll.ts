import type { FastifyReply } from 'fastify'
import type { Drain } from './drain.js'

/** Ends the wait of a long poll: when its time is over, its caller is gone, or the gateway drains. */
export function longPoll(
  reply: FastifyReply,
  drain: Drain,
  seconds: number,
): { signal: AbortSignal; done: () => void } {
  const controller = new AbortController()
  const stop = () => controller.abort()
  const timer = setTimeout(stop, seconds * 1000)
  const off = drain.onStart(stop)
  reply.raw.once('close', stop)
  return {
    signal: controller.signal,
    done() {
      clearTimeout(timer)
      off()
      reply.raw.off('close', stop)
    },
  }
}
