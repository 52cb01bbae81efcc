interface Reply<Output> {
  id: number
  /** Absent if the worker failed. */
  output?: Output
}

export interface WorkerCall<Input, Output> {
  call: (input: Input) => Promise<Output>
  /** Starts the worker, which can hold up the page for a moment, before it is needed. */
  prepare: () => void
}

/**
 * A function that runs in a worker, so that it does not hold up the page. Where a page forbids workers, or the worker cannot
 * be loaded, `inPage` runs instead, with the same result.
 */
export function workerCall<Input, Output>(
  startWorker: () => Worker,
  inPage: (input: Input) => Promise<Output>,
): WorkerCall<Input, Output> {
  const waiting = new Map<number, { input: Input; settle: (output: Output | Promise<Output>) => void }>()
  let worker: Worker | null | undefined
  let lastId = 0

  const finish = ({ id, ...reply }: Reply<Output>) => {
    const request = waiting.get(id)
    waiting.delete(id)
    if (request) request.settle('output' in reply ? reply.output : inPage(request.input))
  }

  const prepare = () => {
    if (worker !== undefined) return
    worker = null
    if (typeof Worker === 'undefined') return
    try {
      const started = startWorker()
      started.addEventListener('message', ({ data }: MessageEvent<Reply<Output>>) => finish(data))
      started.addEventListener('error', () => {
        worker = null
        for (const id of waiting.keys()) finish({ id })
      })
      worker = started
    } catch {
      // A content security policy may refuse it.
    }
  }

  return {
    prepare,
    call(input) {
      prepare()
      if (!worker) return inPage(input)
      const id = ++lastId
      return new Promise((resolve) => {
        waiting.set(id, { input, settle: resolve })
        worker?.postMessage({ id, input }, [])
      })
    },
  }
}

/** The other end of `workerCall`, in the worker. */
export function answerCalls<Input, Output>(run: (input: Input) => Promise<Output>): void {
  addEventListener('message', ({ data: { id, input } }: MessageEvent<{ id: number; input: Input }>) => {
    run(input).then(
      (output) => postMessage({ id, output } satisfies Reply<Output>),
      () => postMessage({ id } satisfies Reply<Output>),
    )
  })
}
