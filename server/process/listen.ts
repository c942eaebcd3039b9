/** Listens at the address of the configuration, or explains why it cannot be used. */

import { createServer, type Server } from 'node:net'
import { codeOf } from '../../gitstore/errors.ts'
import { type Config, ConfigError } from '../base/config.ts'

type Address = Pick<Config, 'host' | 'port'>

/** Listens for a moment. So a port that is in use is found before anything is written. @throws the errors of `listen` */
export async function requirePort(config: Address): Promise<void> {
  const server = createServer()
  await listen(server, config)
  await new Promise((resolve) => server.close(resolve))
}

/** @throws ConfigError that names HOST; system errors, if the port is not available */
export function listen(server: Server, { port, host }: Address): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error) => reject(hostError(error, host) ?? error))
    server.listen({ port, host }, resolve)
  })
}

function hostError(error: Error, host: string): ConfigError | undefined {
  const code = codeOf(error)
  if (code === 'EADDRNOTAVAIL') return new ConfigError(`HOST: ${host} is not an address of this machine`)
  if (code === 'ENOTFOUND') return new ConfigError(`HOST: cannot resolve ${host}`)
  if (code === 'EAI_AGAIN') return new ConfigError(`HOST: the DNS lookup of ${host} failed; try again`)
  return undefined
}

export function urlOf(host: string, port: number): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}
