// A function that runs in a web worker, so that it does not block the page: `workerCall` in the page, `serveCalls` in
// the worker. Each call has an id, which the reply repeats.

interface WorkerReply<Output> {
  id: number
  /** Absent if the function threw in the worker. */
  output?: Output
}

export interface WorkerCall<Input, Output> {
  call: (input: Input) => Promise<Output>
  /** Starts the worker before it is needed, as starting it can block the page for a moment. */
  prepare: () => void
}

/**
 * Creates a function that runs in a worker. If the page forbids workers, the worker can't be loaded, or it fails, `inPage`
 * runs instead, with the same result.
 */
export function workerCall<Input, Output>(
  startWorker: () => Worker,
  inPage: (input: Input) => Promise<Output>,
): WorkerCall<Input, Output> {
  const pending = new Map<number, { input: Input; resolve: (output: Output | Promise<Output>) => void }>()
  let worker: Worker | null | undefined
  let lastId = 0

  const finish = ({ id, ...reply }: WorkerReply<Output>) => {
    const request = pending.get(id)
    pending.delete(id)
    if (request) request.resolve('output' in reply ? reply.output : inPage(request.input))
  }

  const prepare = () => {
    if (worker !== undefined) return
    worker = null
    if (typeof Worker === 'undefined') return
    try {
      const started = startWorker()
      started.addEventListener('message', ({ data }: MessageEvent<WorkerReply<Output>>) => finish(data))
      started.addEventListener('error', () => {
        worker = null
        for (const id of pending.keys()) finish({ id })
      })
      worker = started
    } catch {
      // A content security policy may forbid workers; `worker` stays `null`.
    }
  }

  return {
    prepare,
    call(input) {
      prepare()
      if (!worker) return inPage(input)
      const id = ++lastId
      return new Promise((resolve) => {
        pending.set(id, { input, resolve })
        worker?.postMessage({ id, input }, [])
      })
    },
  }
}

/** The other end of `workerCall`, to be called in the worker. */
export function serveCalls<Input, Output>(run: (input: Input) => Promise<Output>): void {
  addEventListener('message', ({ data: { id, input } }: MessageEvent<{ id: number; input: Input }>) => {
    run(input).then(
      (output) => postMessage({ id, output } satisfies WorkerReply<Output>),
      () => postMessage({ id } satisfies WorkerReply<Output>),
    )
  })
}
