/** A browser without script: cookies for each host, redirects, links and forms. */

import { exchange, type Headers } from '../support/exchange.ts'

export interface Seen {
  readonly status: number
  readonly url: string
  readonly html: string
  readonly headers: Headers
}

const mostRedirects = 12

export class Visitor {
  private readonly jars = new Map<string, Map<string, string>>()
  private readonly base: string

  constructor({ url }: { readonly url: string }) {
    this.base = url
  }

  /** Opens a path of the service, or a URL, and follows redirects. */
  async open(path: string, options: { readonly isOurs?: boolean } = {}): Promise<Seen> {
    let seen = await this.ask(new URL(path, this.base).href, options)
    for (let n = 0; n < mostRedirects && seen.headers.location !== undefined; n++)
      seen = await this.ask(new URL(seen.headers.location, seen.url).href, {})
    return seen
  }

  /** Opens a URL and follows no redirect. */
  ask(
    url: string,
    { isOurs = false, form }: { readonly isOurs?: boolean; readonly form?: string } = {},
  ): Promise<Seen> {
    const address = new URL(url)
    const cookie = [...this.jarOf(address)].map(([name, value]) => `${name}=${value}`).join('; ')
    const headers = {
      ...(cookie === '' ? {} : { cookie }),
      accept: 'text/html',
      'sec-fetch-mode': 'navigate',
      'sec-fetch-site': isOurs || form !== undefined ? 'same-origin' : 'cross-site',
      ...(form === undefined ? {} : { 'content-type': 'application/x-www-form-urlencoded' }),
    }
    const message = form === undefined ? { headers } : { method: 'POST', headers, body: form }
    return exchange(address.href, message).then(({ status, headers: received, text }) => {
      this.keep(address, received['set-cookie'] ?? '')
      return { status, url: address.href, html: text, headers: received }
    })
  }

  /** Sends a form of a page, and follows redirects. */
  async send(path: string, fields: Readonly<Record<string, string>>): Promise<Seen> {
    const seen = await this.ask(new URL(path, this.base).href, { form: new URLSearchParams(fields).toString() })
    const { location } = seen.headers
    return location === undefined ? seen : this.open(new URL(location, seen.url).href)
  }

  /** Calls the API as a script of our pages. */
  async api(path: string, method = 'GET', body?: unknown) {
    const address = new URL(path, this.base)
    const cookie = [...this.jarOf(address)].map(([name, value]) => `${name}=${value}`).join('; ')
    const headers = { cookie, 'sec-fetch-site': 'same-origin', 'content-type': 'application/json' }
    const sent = body === undefined ? {} : { body: JSON.stringify(body) }
    const { status, text } = await exchange(address.href, { method, headers, ...sent })
    return { status, body: text === '' ? undefined : JSON.parse(text) }
  }

  cookies(): string[] {
    return [...this.jarOf(new URL(this.base)).keys()]
  }

  /** Gives this browser the cookies of another one, as a thief would. */
  copyFrom(other: Visitor): void {
    for (const [name, value] of other.jarOf(new URL(other.base))) this.jarOf(new URL(this.base)).set(name, value)
  }

  private jarOf({ host }: URL): Map<string, string> {
    const jar = this.jars.get(host) ?? new Map<string, string>()
    this.jars.set(host, jar)
    return jar
  }

  /** A value of a cookie has no comma, and a date has one that no name follows. */
  private keep(address: URL, text: string): void {
    for (const [, name = '', value = '', rest = ''] of text.matchAll(
      /(?:^|, )([\w.-]+)=([^;,]*)((?:; [^,]*(?:, \d[^,;]*)?)*)/g,
    ))
      if (value === '' || /expires=Thu, 01 Jan 1970/i.test(rest)) this.jarOf(address).delete(name)
      else this.jarOf(address).set(name, value)
  }
}
