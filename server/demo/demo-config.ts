/** The configuration of `grove demo`, whose passwords are printed in its document. So it serves only this machine. */

import { homedir } from 'node:os'
import { join } from 'node:path'
import { type Config, ConfigError, readConfig } from '../base/config.ts'
import { isLoopback } from '../base/is-loopback.ts'

/** The variables that the demo reads. Other variables, such as a database, belong to the service of this environment. */
const readByDemo = ['PORT', 'HOST', 'DATA_DIR', 'LOG_LEVEL', 'LOG_REQUESTS'] as const

/** @throws ConfigError: the environment is that of a service for others */
export function readDemoConfig(variables: NodeJS.ProcessEnv = process.env): Config {
  const isOne = /^\s*1?\s*$/.test(variables.WORKERS ?? '')
  if (variables.PUBLIC_URL) throw refusal('PUBLIC_URL', 'the demo has no public URL, because its passwords are known')
  if (variables.TRUST_PROXY) throw refusal('TRUST_PROXY', 'the demo is not for use behind a proxy')
  if (!isOne) throw refusal('WORKERS', 'the demo runs in one process')
  const given = Object.fromEntries(readByDemo.flatMap((name) => (variables[name] ? [[name, variables[name]]] : [])))
  const quiet = { LOG_LEVEL: 'warn', LOG_REQUESTS: 'errors', EVENT_RETENTION_DAYS: '400' }
  const config = readConfig({ DATA_DIR: join(homedir(), '.cache', 'grove-demo'), ...quiet, ...given })
  if (isLoopback(config.host)) return config
  const reason = `other machines can reach ${config.host}, and the passwords of the demo are known`
  throw new ConfigError(`HOST: ${reason}; use 127.0.0.1`)
}

function refusal(name: string, reason: string): ConfigError {
  return new ConfigError(`${name}: ${reason}; unset it, or run grove serve`)
}
