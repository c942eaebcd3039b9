/** What in the configuration, and in the machine below it, will cause trouble: each a sentence. Nothing is asked over a network. */

import { join } from 'node:path'
import { distance } from 'fastest-levenshtein'
import { gitVersion } from '../../gitstore/native.ts'
import { isTaken } from '../../gitstore/presence.ts'
import { type Config, variableNames } from '../base/config.ts'
import { isLoopback } from '../base/loopback.ts'
import { openFilesLimit } from '../base/open-files.ts'
import { credentialsFile } from '../domain/layout.ts'
import { checkFolder } from './folder-check.ts'

/** The oldest git with what Grove asks of it. */
const oldestGit = [2, 39] as const
/** Files that a service under load may have open. */
const filesWanted = 4_096
/** Names with at most so many other letters are taken for misspelt, in names of over five letters and in shorter ones. */
const misspeltLetters = { long: 2, short: 1 } as const

/** Empty where nothing is found. Writes and removes one file in the data folder, if that exists. */
export async function checkConfig(config: Config, variables: NodeJS.ProcessEnv = process.env): Promise<string[]> {
  const checks = [
    checkNames(variables),
    checkPublicUrl(config),
    checkProxy(config),
    checkCell(config),
    checkFiles(),
    await checkGit(),
    await lookedAt(async () => [...checkDatabase(config), ...(await checkFolder(config.dataDir))]),
  ]
  return checks.flat()
}

/** A fault of the file system is a problem, too: a service that runs goes on. */
async function lookedAt(check: () => Promise<string[]>): Promise<string[]> {
  try {
    return await check()
  } catch (error) {
    return [`DATA_DIR cannot be looked at: ${error instanceof Error ? error.message : error}`]
  }
}

function checkNames(variables: NodeJS.ProcessEnv): string[] {
  return Object.keys(variables).flatMap((name) => {
    if (variableNames.includes(name)) return []
    const meant = variableNames.find((known) => isMisspelt(name, known))
    return meant === undefined ? [] : [`${name} means nothing here; did you mean ${meant}?`]
  })
}

function isMisspelt(name: string, known: string): boolean {
  return distance(name.toUpperCase(), known) <= (known.length > 5 ? misspeltLetters.long : misspeltLetters.short)
}

function checkPublicUrl({ publicUrl }: Config): string[] {
  if (publicUrl === undefined) return []
  const { protocol, hostname, pathname } = new URL(publicUrl)
  const found: string[] = []
  if (protocol !== 'https:' && !isLoopback(hostname))
    found.push('PUBLIC_URL is not https: passwords and tokens travel in the clear')
  if (/\/\/|%/.test(pathname))
    found.push('PUBLIC_URL: proxies change empty and escaped parts of a path; use another path')
  return found
}

function checkProxy({ publicUrl, host, trustProxy }: Config): string[] {
  if (publicUrl?.startsWith('https:') !== true || !isLoopback(host) || trustProxy !== undefined) return []
  return ['TRUST_PROXY is unset behind a proxy: all clients share its address, and its rate limits. Set it to loopback']
}

/** The database is not asked. */
function checkDatabase({ databaseUrl, dataDir }: Config): string[] {
  if (databaseUrl === undefined) return []
  const { hostname, searchParams } = new URL(databaseUrl)
  const isLocal = hostname === '' || hostname.startsWith('%2F') || isLoopback(hostname)
  const mode = searchParams.get('sslmode') ?? 'disable'
  const found: string[] = []
  if (!isLocal && mode === 'disable')
    found.push('DATABASE_URL: password hashes travel in the clear; add sslmode=verify-full')
  if (!isLocal && mode === 'require')
    found.push('DATABASE_URL: sslmode=require takes any certificate; use verify-full, with sslrootcert')
  if (isTaken(join(dataDir, credentialsFile)))
    found.push(`DATABASE_URL is set, but accounts are in ${credentialsFile}: grove credentials-to-postgres moves them`)
  return found
}

/** The other cells are not asked. */
function checkCell({ cell, host }: Config): string[] {
  if (cell === undefined || isLoopback(new URL(cell.url).hostname) || !isLoopback(host)) return []
  return ['CELL_URL: HOST listens on this machine alone, where no other cell reaches it']
}

function checkFiles(): string[] {
  const limit = Number(openFilesLimit() ?? filesWanted)
  // The report names a missing limit `unlimited`.
  return limit < filesWanted ? [`ulimit -n is ${limit}: a service under load needs ${filesWanted}`] : []
}

async function checkGit(): Promise<string[]> {
  const wanted = oldestGit.join('.')
  const version = await gitVersion().catch(() => undefined)
  if (version === undefined) return [`git cannot be started: Grove needs git ${wanted} or newer`]
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const isOld = major < oldestGit[0] || (major === oldestGit[0] && minor < oldestGit[1])
  return isOld ? [`git is ${version}: Grove needs ${wanted} or newer`] : []
}
