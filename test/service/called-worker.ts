/** The worker thread of worker-client.test.ts: answers late, fails or ends, as it is asked. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { DatabaseError } from '../../index/sqlite/database-fault.ts'
import { notify, serveCalls } from '../../server/domain/worker-client.ts'

export interface TestCalls {
  /** Answers with the key once it is released. */
  hold(key: string): string
  release(key: string): undefined
  bytes(length: number): Uint8Array<ArrayBuffer>
  /** The length of the last answer of `bytes`, as the worker sees it. */
  bytesLeft(input: undefined): number
  fail(how: 'fault' | 'error'): undefined
  exit(code: number): undefined
  crash(message: string): undefined
}

const held = new Map<string, (key: string) => void>()
let last = new Uint8Array(0)

serveCalls<TestCalls>(
  {
    hold: (key) => {
      notify(key)
      return new Promise((resolve) => held.set(key, resolve))
    },
    release: async (key) => {
      held.get(key)?.(key)
      return undefined
    },
    bytes: async (length) => {
      last = new Uint8Array(length)
      return last
    },
    bytesLeft: async () => last.length,
    fail: async (how) => {
      if (how === 'fault') throw new DatabaseError('damaged', 'The database is damaged')
      throw new TypeError('The input is odd')
    },
    exit: async (code) => {
      process.exit(code)
    },
    crash: async (message) => {
      setImmediate(() => {
        throw new Error(message)
      })
      await nextTurn()
      return undefined
    },
  },
  (answer) => (answer instanceof Uint8Array ? [answer.buffer] : []),
)
