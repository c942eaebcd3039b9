/** Configuration by the operator. The only file that reads the environment. */

import { isIP } from 'node:net'
import { resolve } from 'node:path'
import { z } from 'zod'

export interface Config {
  /** 0: any free port. */
  readonly port: number
  readonly host: string
  /** Absolute. */
  readonly dataDir: string
  /** Without a slash at its end. Also the issuer and audience of tokens. */
  readonly publicUrl?: string
  /** Proxies whose X-Forwarded headers are trusted, as addresses or networks; absent: none. */
  readonly trustProxy?: readonly string[]
  readonly logLevel: LogLevel
  readonly rateLimit: boolean
  /** Processes that share the port; 1: a single process. */
  readonly workers: number
  /** The cost of new password hashes, for tests. No environment variable sets it. */
  readonly passwordCost?: PasswordCost
}

/** argon2id with one lane. */
interface PasswordCost {
  readonly memoryKib: number
  readonly passes: number
}

type LogLevel = (typeof logLevels)[number]

const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const

const environment = z.object({
  PORT: z.coerce.number().int().min(0).max(65535).default(3000),
  HOST: z.string().default('127.0.0.1'),
  DATA_DIR: z.string().default('./repos'),
  PUBLIC_URL: z
    .url({ protocol: /^https?$/ })
    .refine(isPlain, 'is an address without a query, a fragment or a user, such as https://grove.example')
    .optional(),
  TRUST_PROXY: z.string().transform(listed).refine(areNetworks, 'is a list such as loopback, 10.0.0.0/8').optional(),
  LOG_LEVEL: z.enum(logLevels).default('info'),
  RATE_LIMIT: z.enum(['on', 'off']).default('on'),
  WORKERS: z.coerce.number().int().min(1).max(64).default(1),
})

/** A base URL; paths are appended. */
function isPlain(address: string): boolean {
  if (!URL.canParse(address)) return false
  const { username, password } = new URL(address)
  return username === '' && password === '' && !/[?#]/.test(address)
}

function listed(text: string): string[] {
  return text.split(',').map((one) => one.trim())
}

const namedNetworks = ['loopback', 'linklocal', 'uniquelocal']

function areNetworks(list: readonly string[]): boolean {
  return list.every((one) => {
    const [address = '', prefix, more] = one.split('/')
    if (namedNetworks.includes(one)) return true
    const bits = isIP(address) === 6 ? 128 : 32
    const isPrefix = prefix === undefined || (/^[1-9]\d{0,2}$/.test(prefix) && Number(prefix) <= bits)
    return isIP(address) !== 0 && isPrefix && more === undefined
  })
}

/** Invalid configuration; the message names each variable. */
export class ConfigError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'ConfigError'
  }
}

/** @throws ConfigError */
export function readConfig(variables: NodeJS.ProcessEnv = process.env): Config {
  // An empty variable counts as unset.
  const given = Object.fromEntries(Object.entries(variables).filter(([, value]) => value !== ''))
  const { success, data, error } = environment.safeParse(given)
  if (!success) {
    throw new ConfigError(error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; '))
  }
  return {
    port: data.PORT,
    host: data.HOST,
    dataDir: resolve(data.DATA_DIR),
    ...(data.PUBLIC_URL === undefined ? {} : { publicUrl: data.PUBLIC_URL.replace(/\/+$/, '') }),
    ...(data.TRUST_PROXY === undefined ? {} : { trustProxy: data.TRUST_PROXY }),
    logLevel: data.LOG_LEVEL,
    rateLimit: data.RATE_LIMIT === 'on',
    workers: data.WORKERS,
  }
}

/** Variables by which the first process configures its workers; not for operators. */
export interface WorkerOrders {
  /** The shared port; 0 until the first worker has chosen one. */
  readonly port: number
  /** Whether this worker runs the background jobs; exactly one does. */
  readonly sweeps: boolean
}

export function workerEnvironment({ port, sweeps }: WorkerOrders): Record<string, string> {
  return { PORT: String(port), GROVE_WORKER_SWEEPS: sweeps ? 'yes' : 'no' }
}

/** Reads `workerEnvironment`; a process without it runs the background jobs. */
export function isSweeper(variables: NodeJS.ProcessEnv = process.env): boolean {
  return variables.GROVE_WORKER_SWEEPS !== 'no'
}
