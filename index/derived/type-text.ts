/** The type of a node in SQL. `typeText` in server/domain/types is the same in code. */

/** SQL of the property `type` of a row of `node`. A list of one text is that text. Null for any other value. */
export const typeTextSql = `case json_type(properties, '$.type')
  when 'text' then properties ->> '$.type'
  when 'array' then case
    when json_array_length(properties, '$.type') = 1 and json_type(properties, '$.type[0]') = 'text'
    then properties ->> '$.type[0]' end
  end`
