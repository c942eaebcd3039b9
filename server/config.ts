/** What the operator decides. The only file that reads the environment. */

import { resolve } from 'node:path'
import { z } from 'zod'

export interface Config {
  /** 0: any free port. */
  readonly port: number
  readonly host: string
  /** Absolute. */
  readonly dataDir: string
  /** Without a slash at its end; issuer and audience of tokens where it is set. */
  readonly publicUrl?: string
  readonly logLevel: LogLevel
  readonly rateLimit: boolean
  /** Processes that share the port; 1: the process serves by itself. */
  readonly workers: number
}

type LogLevel = (typeof logLevels)[number]

const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const

const environment = z.object({
  PORT: z.coerce.number().int().min(0).max(65535).default(3000),
  HOST: z.string().default('127.0.0.1'),
  DATA_DIR: z.string().default('./repos'),
  PUBLIC_URL: z.url({ protocol: /^https?$/ }).optional(),
  LOG_LEVEL: z.enum(logLevels).default('info'),
  RATE_LIMIT: z.enum(['on', 'off']).default('on'),
  WORKERS: z.coerce.number().int().min(1).max(64).default(1),
})

/** What the environment says cannot be used; the message names each variable. */
export class ConfigError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'ConfigError'
  }
}

/** @throws ConfigError */
export function readConfig(variables: NodeJS.ProcessEnv = process.env): Config {
  // An empty variable is one that somebody meant to unset.
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
    logLevel: data.LOG_LEVEL,
    rateLimit: data.RATE_LIMIT === 'on',
    workers: data.WORKERS,
  }
}

/** What the first process tells a worker that it starts; nothing that an operator sets. */
export interface WorkerOrders {
  /** The port that all share; 0 as long as it is the first's own any free port. */
  readonly port: number
  /** Whether this one looks at every repository in the background: one of all workers does. */
  readonly sweeps: boolean
}

export function workerEnvironment({ port, sweeps }: WorkerOrders): Record<string, string> {
  return { PORT: String(port), GROVE_WORKER_SWEEPS: sweeps ? 'yes' : 'no' }
}

/** As `workerEnvironment` says it; a process that nobody gave orders sweeps. */
export function isSweeper(variables: NodeJS.ProcessEnv = process.env): boolean {
  return variables.GROVE_WORKER_SWEEPS !== 'no'
}
