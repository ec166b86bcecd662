"""The grammar. Imported on the first parse only: building the parser takes some tens of
milliseconds that a command without a query should not pay."""

from __future__ import annotations

from lark import Lark

GRAMMAR = """
start: condition? extreme? order? limit?

?condition: conjunction
          | conjunction (OR conjunction)+ -> disjunction
?conjunction: term
            | term (AND term)+
?term: NOT term -> negation
     | _LPAR condition _RPAR
     | HAS key -> has
     | key COMPARE value -> compare
     | key MATCH value -> matches
     | key NOT? BETWEEN value AND value -> between
     | key NOT? IN _LPAR value (_COMMA value)* _RPAR -> member

extreme: (MAX | MIN) key
order: ORDER BY sort (_COMMA sort)*
sort: key (ASC | DESC)?
limit: LIMIT QUANTITY

key: WORD | QUOTED_KEY
value: WORD | STRING | QUANTITY

%declare OR AND NOT HAS BETWEEN IN MAX MIN ORDER BY ASC DESC LIMIT
%declare WORD QUOTED_KEY STRING QUANTITY COMPARE MATCH _LPAR _RPAR _COMMA
"""

PARSER = Lark(GRAMMAR, parser="lalr", maybe_placeholders=False)
