/** Pages without a browser: the cookie of a person, and forms as a page sends them. */

import { type Answer, client, type PersonClient, password } from '../support/people.ts'

const headers = {
  ...{ 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'navigate', accept: 'text/html' },
  'content-type': 'application/x-www-form-urlencoded',
}

type Fields = Readonly<Record<string, string>>

/** Sends a form as a page does, in no session but that of `more`. */
export function sendForm(
  grove: { readonly url: string },
  path: string,
  fields: Fields,
  more: Fields = {},
): Promise<Answer> {
  return client(grove).post(path, new URLSearchParams(fields).toString(), { ...headers, ...more })
}

/** Sends forms in a new session of the person. */
export async function formsOf(
  grove: { readonly url: string },
  person: PersonClient,
): Promise<(path: string, fields: Fields) => Promise<Answer>> {
  const { headers: got } = await sendForm(grove, '/sign-in', { email: person.user.email, password })
  const cookie = got['set-cookie']?.split(';')[0] ?? ''
  return (path, fields) => sendForm(grove, path, fields, { cookie })
}
