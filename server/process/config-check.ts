/** Finds problems of the configuration and of the machine. Each is a sentence. Uses no network. */

import { rm, rmdir, stat, statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { distance } from 'fastest-levenshtein'
import { syncDirectory, writeSynced } from '../../gitstore/durable.ts'
import { ignoreMissing, lexists } from '../../gitstore/fs-exists.ts'
import { gitVersion } from '../../gitstore/native.ts'
import { temporaryFile } from '../../gitstore/temporary-names.ts'
import { type Config, ConfigError, variableNames } from '../base/config.ts'
import { isLoopback } from '../base/is-loopback.ts'
import { openFilesLimit } from '../base/open-files.ts'
import { findLocalPackages, ModelNotInstalledError } from '../domain/embeddings/local-packages.ts'
import { credentialsFile, runFolder } from '../domain/layout.ts'
import { makeOwnFolder, nextStep } from './data-folder.ts'

/** The oldest git that Grove supports. */
const oldestGit = [2, 39] as const
/** Files that a service may have open under load. */
const filesWanted = 4_096
/** How many letters a misspelt name may differ by. `long`: in names of over five letters. */
const misspeltLetters = { long: 2, short: 1 } as const

/** Remote file systems, by the type from statfs(2). Their locks and syncs are not reliable. */
const remoteTypes: Readonly<Record<number, string>> = {
  26985: 'NFS',
  20859: 'SMB',
  4283649346: 'CIFS',
  4266872130: 'SMB2',
  16914839: '9P',
  1702057286: 'FUSE',
  12805120: 'Ceph',
  198183888: 'Lustre',
  1397113167: 'AFS',
}

/** The fraction of the disk that should be free. */
const freePart = 0.05
/** Milliseconds that the clock may be behind the time of a file. */
const clockToleranceMs = 60_000

/** Returns the problems found. Writes and removes one file in the data folder. */
export async function checkConfig(config: Config, variables: NodeJS.ProcessEnv = process.env): Promise<string[]> {
  const checks = [
    checkNames(variables, config),
    checkPublicUrl(config),
    checkProxy(config),
    checkCell(config),
    checkProviders(config),
    checkLocalModel(config),
    checkFiles(),
    await checkGit(),
    await lookedAt(async () => [...checkDatabase(config), ...(await checkFolder(config.dataDir))]),
  ]
  return checks.flat()
}

/** Reports a fault of the file system as a problem: a running service continues. */
async function lookedAt(check: () => Promise<string[]>): Promise<string[]> {
  try {
    return await check()
  } catch (error) {
    return [`DATA_DIR cannot be checked: ${error instanceof Error ? error.message : error}`]
  }
}

function checkNames(variables: NodeJS.ProcessEnv, { oidc = [] }: Config): string[] {
  return Object.keys(variables).flatMap((name) => {
    // The settings of providers were checked when they were read.
    if (variableNames.includes(name) || (oidc.length > 0 && name.startsWith('OIDC_'))) return []
    const meant = variableNames.find((known) => isMisspelt(name, known))
    return meant === undefined ? [] : [`${name} is not a variable of Grove; did you mean ${meant}?`]
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
    found.push('PUBLIC_URL: proxies change paths with empty or escaped parts; use another path')
  return found
}

function checkProxy({ publicUrl, host, trustProxy }: Config): string[] {
  if (publicUrl?.startsWith('https:') !== true || !isLoopback(host) || trustProxy !== undefined) return []
  return [
    'TRUST_PROXY is unset behind a proxy: all clients share its IP address and its rate limits. Set it to loopback',
  ]
}

/** Does not connect to the database. */
function checkDatabase({ databaseUrl, dataDir }: Config): string[] {
  if (databaseUrl === undefined) return []
  const { hostname, searchParams } = new URL(databaseUrl)
  const isLocal = hostname === '' || hostname.startsWith('%2F') || isLoopback(hostname)
  const mode = searchParams.get('sslmode') ?? 'disable'
  const found: string[] = []
  if (!isLocal && mode === 'disable')
    found.push('DATABASE_URL: password hashes travel in the clear; add sslmode=verify-full')
  if (!isLocal && mode === 'require')
    found.push('DATABASE_URL: sslmode=require accepts any certificate; use verify-full with sslrootcert')
  if (lexists(join(dataDir, credentialsFile)))
    found.push(
      `DATABASE_URL is set, but accounts are in ${credentialsFile}: move them with grove credentials-to-postgres`,
    )
  return found
}

/** Does not connect to other cells. */
function checkCell({ cell, host }: Config): string[] {
  if (cell === undefined || isLoopback(new URL(cell.url).hostname) || !isLoopback(host)) return []
  return ['CELL_URL: HOST listens only on this machine, so other cells cannot reach it']
}

/** Issuers with which anyone can get an account. */
const publicIssuers = ['https://accounts.google.com', 'https://gitlab.com', 'https://appleid.apple.com']

function checkProviders({ oidc = [], signup, publicUrl, host }: Config): string[] {
  return oidc.flatMap(({ id, issuer, require: demand, signup: own }) => {
    const begins = `OIDC_${id.toUpperCase()}`
    const isOpen = own === 'on' || (own === undefined && signup === 'open')
    const isPublic = publicIssuers.includes(issuer.replace(/\/$/, ''))
    const found: string[] = []
    if (isPublic && isOpen && demand === undefined)
      found.push(`${begins}_REQUIRE is unset: everybody with an account at ${issuer} gets one here`)
    if (publicUrl === undefined && !isLoopback(host))
      found.push(`${begins}_ISSUER needs PUBLIC_URL, to which the provider sends users back`)
    return found
  })
}

/** Says the same as the start, which fails without the packages. */
function checkLocalModel({ embeddings }: Config): string[] {
  if (embeddings === undefined || embeddings.endpoint !== undefined) return []
  try {
    findLocalPackages()
    return []
  } catch (error) {
    if (!(error instanceof ModelNotInstalledError)) throw error
    return [error.message]
  }
}

function checkFiles(): string[] {
  const limit = Number(openFilesLimit() ?? filesWanted)
  // A missing limit is reported as `unlimited`, so `limit` is NaN.
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

/** Checks the data folder. A missing one is made, as the first start makes it, and removed again. */
async function checkFolder(root: string): Promise<string[]> {
  const missing = missingFolders(root)
  try {
    await makeOwnFolder(root)
    return await checkMade(root)
  } catch (error) {
    if (error instanceof ConfigError) return [error.message]
    throw error
  } finally {
    // A start at the same moment may already use it.
    for (const folder of missing) await rmdir(folder).catch(() => undefined)
  }
}

/** Returns the folder and those above it that do not exist, the lowest first. */
function missingFolders(folder: string): string[] {
  return lexists(folder) ? [] : [folder, ...missingFolders(dirname(folder))]
}

/** Writes, syncs and removes a file in the folder. */
async function checkMade(root: string): Promise<string[]> {
  const { mode, dev } = await stat(root)
  return [
    ...(await checkFileSystem(root)),
    ...(await checkReaders(root, mode)),
    ...(await checkRun(root, dev)),
    ...(await checkWriting(root)),
    ...(await checkClock(root)),
  ]
}

async function checkFileSystem(folder: string): Promise<string[]> {
  const { type, bavail, blocks } = await statfs(folder)
  const remote = remoteTypes[type]
  const found = remote === undefined ? [] : [`DATA_DIR is on ${remote}: it must be on a local file system`]
  const free = bavail / blocks
  if (free < freePart) found.push(`DATA_DIR: only ${Math.floor(free * 100)} % of its file system is free`)
  return found
}

/** Permissions of every user of the machine: any of them, and only to enter. */
const [anyOfOthers, enteringOfOthers] = [0o007, 0o001]

/** Checks that other users cannot read the contents of all organisations. A closed folder above it is enough. */
async function checkReaders(root: string, mode: number): Promise<string[]> {
  if ((mode & anyOfOthers) === 0) return []
  for (let above = dirname(root); ; above = dirname(above)) {
    if (((await stat(above)).mode & enteringOfOthers) === 0) return []
    if (dirname(above) === above) break
  }
  return [`DATA_DIR: every user of this machine can read ${root}, which holds all content: chmod o= ${root}`]
}

/** Checks `run/`, from which files are renamed into repositories. Renames must not cross file systems. */
async function checkRun(root: string, device: number): Promise<string[]> {
  const found = await ignoreMissing(stat(runFolder(root)))
  return found === undefined || found.dev === device
    ? []
    : ['DATA_DIR and its folder run/ must be on the same file system']
}

async function checkWriting(root: string): Promise<string[]> {
  const file = join(root, temporaryFile('check'))
  try {
    await writeSynced(file, 'check\n')
    await syncDirectory(root)
    return []
  } catch (error) {
    const reason = error instanceof Error ? error.message : error
    return [`DATA_DIR cannot be written and synced: ${reason}; ${nextStep}`]
  } finally {
    await rm(file, { force: true }).catch(() => undefined)
  }
}

async function checkClock(root: string): Promise<string[]> {
  const written = await ignoreMissing(stat(join(root, credentialsFile)))
  const behind = (written?.mtimeMs ?? 0) - Date.now()
  return behind > clockToleranceMs
    ? [`The clock is ${Math.round(behind / 1000)} s behind the last change of ${credentialsFile}`]
    : []
}
