/** Pages without a browser: the cookie of a person, and forms as a page sends them. */

import { plain } from '../support/pages.ts'
import { type Answer, client, type PersonClient, password } from '../support/people.ts'

const headers = {
  ...{ 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'navigate', accept: 'text/html' },
  'content-type': 'application/x-www-form-urlencoded',
}

type Fields = Readonly<Record<string, string>>

/** A field may be sent several times, as checkboxes are. */
type FormFields = Readonly<Record<string, string | readonly string[]>>

/** Sends a form as a page does, in no session but that of `more`. Paths in the answer have no words. */
export async function sendForm(
  grove: { readonly url: string },
  path: string,
  fields: FormFields,
  more: Fields = {},
): Promise<Answer> {
  const pairs = Object.entries(fields).flatMap(([name, value]) => [value].flat().map((one) => [name, one]))
  return plain(await client(grove).post(path, new URLSearchParams(pairs).toString(), { ...headers, ...more }))
}

/** Sends forms in a new session of the person. */
export async function formsOf(
  grove: { readonly url: string },
  person: PersonClient,
): Promise<(path: string, fields: FormFields) => Promise<Answer>> {
  return (await visitOf(grove, person)).send
}

export interface Visit {
  /** Opens a page as a browser does. */
  open(path: string, more?: Fields): Promise<Answer>
  send(path: string, fields: FormFields): Promise<Answer>
}

/** Opens pages and sends forms in a new session of the person. */
export async function visitOf(
  grove: { readonly url: string },
  person: PersonClient,
  always: Fields = {},
): Promise<Visit> {
  const { headers: got } = await sendForm(grove, '/sign-in', { email: person.user.email, password })
  const cookie = got['set-cookie']?.split(';')[0] ?? ''
  return {
    open: (path, more = {}) =>
      client(grove).get(path, { ...headers, cookie, 'content-type': '', 'sec-fetch-site': 'none', ...more }),
    send: (path, fields) => sendForm(grove, path, fields, { cookie, ...always }),
  }
}

/** The main part of a page. */
export function mainOf({ body }: Answer): string {
  return /<main[\s\S]*<\/main>/.exec(body)?.[0] ?? ''
}

/** The first error of the page. */
export function alertIn(answer: Answer): string | undefined {
  return /role="alert">([^<]*)</.exec(mainOf(answer))?.[1]
}

/** The content of a field of the page, as HTML. Undefined if there is no such field. */
export function valueIn(answer: Answer, name: string): string | undefined {
  const [input] = new RegExp(`<input(?=[^>]* name="${name}")(?:[^>"]|"[^"]*")*>`).exec(mainOf(answer)) ?? []
  return input && (/ value="([^"]*)"/.exec(input)?.[1] ?? '')
}

/** Where an answer leads. */
export function ledTo({ status, headers }: Answer): [number, string | undefined] {
  return [status, headers.location]
}
