/** Proxies with TLS, run from the files of server/deploy/ with other ports, names and certificates. */

import { execFile, spawn } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { request } from 'node:https'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { password } from '../support/people.ts'
import { endAfterFile } from '../support/processes.ts'

const run = promisify(execFile)

export interface Certificate {
  readonly folder: string
  readonly certificate: string
  readonly key: string
}

export async function newCertificate(): Promise<Certificate> {
  const folder = await mkdtemp(join(tmpdir(), 'grove-proxy-'))
  const [certificate, key] = [join(folder, 'certificate.pem'), join(folder, 'key.pem')]
  const name = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost']
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2']
  await run('openssl', ['req', '-x509', ...curve, ...name, '-keyout', key, '-out', certificate])
  return { folder, certificate, key }
}

/** A port of 127.0.0.1 that was free a moment ago. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0))
    })
  })
}

export interface ProxyPlace {
  readonly certificate: Certificate
  /** Where the proxy listens with TLS, and where the service listens. */
  readonly port: number
  readonly upstream: number
  /** `/grove` to serve below a path. */
  readonly prefix: string
  /** In place of nginx's own block `upstream`. */
  readonly cells?: string
}

export interface RunningProxy {
  stop(): Promise<void>
}

export const proxies: Readonly<Record<string, (place: ProxyPlace) => Promise<RunningProxy>>> = {
  nginx: async ({ certificate, port, upstream, prefix, cells }) => {
    const { folder } = certificate
    const site = replaced(await readFile('server/deploy/nginx.conf', 'utf8'), [
      [/^server \{\n {4}listen 80;[\s\S]*?^\}\n/m, ''],
      cells === undefined
        ? [/127\.0\.0\.1:3000/, `127.0.0.1:${upstream}`]
        : [/^upstream grove \{[\s\S]*?^\}\n/m, cells],
      [/listen 443 ssl;/, `listen 127.0.0.1:${port} ssl;`],
      [/^ {4}server_name .*;$/m, '    server_name localhost;'],
      [/ssl_certificate \S+;/, `ssl_certificate ${certificate.certificate};`],
      [/ssl_certificate_key \S+;/, `ssl_certificate_key ${certificate.key};`],
      [/location \/git\/ /, `location ${prefix}/git/ `],
      [/location \/ /, `location ${prefix}/ `],
    ])
    const file = join(folder, `nginx-${port}.conf`)
    const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
      .map((name) => `${name}_temp_path ${folder}/${name};`)
      .join(' ')
    await writeFile(
      file,
      `daemon off; pid ${folder}/nginx.pid; error_log stderr; events {}\nhttp { access_log off; ${temporary}\n${site}}\n`,
    )
    return started('nginx', ['-c', file, '-p', folder], port)
  },
  Caddy: async ({ certificate, port, upstream, prefix }) => {
    const site = replaced(await readFile('server/deploy/Caddyfile', 'utf8'), [
      [/^\{\n/m, '{\n\tadmin off\n\tauto_https off\n'],
      [/^\{\$GROVE_NAME:grove\.example\} \{$/m, `$&\n\ttls ${certificate.certificate} ${certificate.key}`],
      ...(prefix === ''
        ? []
        : ([[/(\treverse_proxy[\s\S]*?\n\t\})/, `\thandle_path ${prefix}/* {\n$1\n\t}`]] satisfies Replacement[])),
    ])
    const file = join(certificate.folder, `Caddyfile-${port}`)
    await writeFile(file, site)
    return started('caddy', ['run', '--config', file, '--adapter', 'caddyfile'], port, {
      HOME: certificate.folder,
      XDG_DATA_HOME: certificate.folder,
      XDG_CONFIG_HOME: certificate.folder,
      GROVE_NAME: `https://localhost:${port}`,
      GROVE_UPSTREAM: `127.0.0.1:${upstream}`,
    })
  },
}

/** nginx's block for three cells, as their README has it, with these ports. */
export async function upstreamOf(ports: readonly number[]): Promise<string> {
  const text = await readFile('server/deploy/cells.md', 'utf8')
  const block = /```nginx\n([\s\S]*?)```/.exec(text)?.[1] ?? ''
  return replaced(
    block,
    ports.map((port, at) => [new RegExp(`10\\.0\\.0\\.${at + 1}:3000`), `127.0.0.1:${port}`]),
  )
}

type Replacement = readonly [RegExp, string]

/** @throws Error where a pattern is not in the file any more: what is tested would not be what is delivered */
function replaced(text: string, replacements: readonly Replacement[]): string {
  return replacements.reduce((before, [pattern, replacement]) => {
    if (!pattern.test(before)) throw new Error(`Not found: ${pattern}`)
    return before.replace(pattern, replacement)
  }, text)
}

async function started(
  command: string,
  words: readonly string[],
  port: number,
  environment: Record<string, string> = {},
): Promise<RunningProxy> {
  const child = endAfterFile(
    spawn(command, words, { stdio: ['ignore', 'ignore', 'pipe'], env: { ...process.env, ...environment } }),
  )
  let said = ''
  let ended = false
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    said += chunk
  })
  const exited = new Promise<void>((resolve) => {
    child.once('error', (error) => {
      said += error
      ended = true
      resolve()
    })
    child.once('exit', () => {
      ended = true
      resolve()
    })
  })
  while (!(await accepts(port))) {
    if (ended) throw new Error(`${command} ended: ${said}`)
    await sleep(50)
  }
  return {
    stop: async () => {
      child.kill('SIGTERM')
      await exited
    },
  }
}

async function accepts(port: number): Promise<boolean> {
  return fetch(`http://127.0.0.1:${port}/`).then(
    () => true,
    (error: { cause?: { code?: string } }) => error.cause?.code !== 'ECONNREFUSED',
  )
}

export interface Asked {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
}

export interface Asking {
  readonly method?: string
  readonly headers?: Record<string, string>
  readonly body?: unknown
  /** The client's own address. */
  readonly from?: string
}

/** One request over TLS, on a connection of its own. */
export function ask(
  url: string,
  ca: Buffer,
  { method = 'GET', headers = {}, body, from }: Asking = {},
): Promise<Asked> {
  return new Promise((resolve, reject) => {
    const sent = body === undefined ? undefined : JSON.stringify(body)
    const json = sent === undefined ? {} : { 'content-type': 'application/json' }
    const asking = request(
      url,
      {
        method,
        ca,
        agent: false,
        headers: { ...json, ...headers },
        ...(from === undefined ? {} : { localAddress: from }),
      },
      (response) => {
        let text = ''
        response.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk
        })
        response.once('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }))
      },
    )
    asking.once('error', reject).end(sent)
  })
}

export interface AnsweredJson extends Asked {
  // biome-ignore lint/suspicious/noExplicitAny: a test says what it expects
  readonly body: any // of any shape: the spec has one for each operation
}

/** `ask`, with the body parsed; `{}` of an answer that is not JSON. */
export async function askJson(url: string, ca: Buffer, asking: Asking = {}): Promise<AnsweredJson> {
  const answer = await ask(url, ca, asking)
  return { ...answer, body: /json/.test(String(answer.headers['content-type'])) ? JSON.parse(answer.text) : {} }
}

/** Signs up `person` at the service below `base`. */
export function signUp(
  base: string,
  ca: Buffer,
  person: string,
  asking: Pick<Asking, 'from' | 'headers'>,
): Promise<AnsweredJson> {
  const body = { email: `${person}@example.org`, password, name: person }
  return askJson(`${base}/auth/signup`, ca, { ...asking, method: 'POST', body })
}

export function removeCertificate({ folder }: Certificate): Promise<void> {
  return rm(folder, { recursive: true, force: true })
}
