/** A folder in which a test runs a Git user's commands as shell scripts. */

import { mkdtemp, rm } from 'node:fs/promises'
import { Agent, type ClientRequest, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startShell } from './processes.ts'

interface Said {
  /** The exit code of the last command. A command that fails is the last one. */
  readonly code: number
  /** Standard output and standard error in one stream, without Git's padding of lines. */
  readonly text: string
}

export interface Desk {
  readonly dir: string
  /** Runs a Bash script in `dir`. */
  sh(script: string, environment?: Readonly<Record<string, string>>): Promise<Said>
  /** Runs a script as `sh` does, and returns its text. @throws Error if it did not end with 0 */
  done(script: string, environment?: Readonly<Record<string, string>>): Promise<string>
  remove(): Promise<void>
}

/**
 * Creates a desk. Git there ignores the configuration of the machine and its user, asks for no password, and has one
 * author.
 */
export async function newDesk(name = 'Ann'): Promise<Desk> {
  const dir = await mkdtemp(join(tmpdir(), 'grove-desk-'))
  const email = `${name.toLowerCase()}@example.org`
  const standing = {
    PATH: process.env.PATH ?? '',
    HOME: dir,
    LC_ALL: 'C',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_TERMINAL_PROMPT: '0',
    GIT_AUTHOR_NAME: name,
    GIT_AUTHOR_EMAIL: email,
    GIT_COMMITTER_NAME: name,
    GIT_COMMITTER_EMAIL: email,
  }
  const sh: Desk['sh'] = (script, environment = {}) => {
    const child = startShell(`set -e; exec 2>&1; ${script}`, { cwd: dir, env: { ...standing, ...environment } })
    let text = ''
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk
    })
    return new Promise((done) => child.once('close', (code) => done({ code: code ?? 1, text: trimmed(text) })))
  }
  await sh('git config --global init.defaultBranch main; git config --global advice.detachedHead false')
  return {
    dir,
    sh,
    done: async (script, environment) => {
      const { code, text } = await sh(script, environment)
      if (code !== 0) throw new Error(`${script}\nended with ${code}:\n${text}`)
      return text
    },
    remove: () => rm(dir, { recursive: true, force: true }),
  }
}

function trimmed(text: string): string {
  return text.replace(/ +$/gm, '')
}

/** Returns a node's Git URL. If there is a token, the URL has it as the password. */
export function remoteUrl(grove: { readonly url: string }, org: string, node: string, token?: string): string {
  const { host } = new URL(grove.url)
  return `http://${token === undefined ? '' : `git:${token}@`}${host}/git/${org}/${node}.git`
}

/**
 * Opens a request to one of Git's services, on a separate connection. The caller writes its body and reads its answer.
 */
export function openService(
  grove: { readonly url: string },
  node: { readonly org: string; readonly id: string },
  token: string,
  service: 'git-upload-pack' | 'git-receive-pack',
  headers: Readonly<Record<string, string>> = {},
): ClientRequest {
  const { hostname, port } = new URL(grove.url)
  return request({
    hostname,
    port,
    method: 'POST',
    path: `/git/${node.org}/${node.id}.git/${service}`,
    agent: new Agent(),
    headers: { authorization: `Bearer ${token}`, 'content-type': `application/x-${service}-request`, ...headers },
  })
}
