/**
 * Starts a service with its limits on, behind a proxy on this machine. An IP address in X-Forwarded-For is the
 * caller's.
 */

import { rm } from 'node:fs/promises'
import { pino } from 'pino'
import { startService } from '../../server/process/service.ts'
import { newDataDir } from './data-folder.ts'
import { type Grove, passwordCost } from './grove.ts'
import { type Answer, client, password } from './people.ts'
import { settled } from './settled.ts'

export interface BehindProxyOptions {
  readonly now?: () => Date
  readonly rateLimit?: boolean
}

export async function startBehindProxy({ now, rateLimit = true }: BehindProxyOptions = {}): Promise<Grove> {
  const dataDir = await newDataDir()
  const config = {
    port: 0,
    host: '127.0.0.1',
    dataDir,
    logLevel: 'error' as const,
    logRequests: 'all' as const,
    rateLimit,
    workers: 1,
    searchMemory: 256 * 1_048_576,
    pushCpuSeconds: 60,
    trashDays: 30,
    proposalDays: 90,
    eventRetentionDays: 30,
    signup: 'open' as const,
    passwordCost,
  }
  const service = await startService(
    { ...config, trustProxy: ['loopback'] },
    { log: pino({ level: 'silent' }), validateResponses: true, ...(now === undefined ? {} : { now }) },
  )
  const close = async () => {
    await service.close()
    await rm(dataDir, { recursive: true, force: true })
  }
  const { url, deps } = service
  return { url, dataDir, deps, logged: () => '', settled: () => settled(deps), close }
}

export function from(address: string): Record<string, string> {
  return { 'x-forwarded-for': address }
}

export function login(grove: Grove, address: string, email: string, secret = password): Promise<Answer> {
  return client(grove).post('/auth/login', { email, password: secret }, from(address))
}

/** Sends wrong guesses one after the other. Returns the statuses of the answers. */
export async function guess(grove: Grove, address: string, email: string, times: number): Promise<number[]> {
  const statuses: number[] = []
  for (let turn = 0; turn < times; turn++) statuses.push((await login(grove, address, email, 'a wrong guess')).status)
  return statuses
}
