SELECT pg_catalog.set_config('search_path', '', false);
CREATE TABLE public.alembic_version (
    version_num character varying(32) NOT NULL
);
CREATE TABLE public.platform (
    key character varying(64) NOT NULL,
    value text NOT NULL
);
CREATE TABLE public.projects (
    id bigint NOT NULL,
    name character varying(63) NOT NULL COLLATE pg_catalog."C",
    created_at bigint NOT NULL
);
CREATE SEQUENCE public.projects_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.projects_id_seq OWNED BY public.projects.id;
CREATE TABLE public.tokens (
    id bigint NOT NULL,
    lookup character varying(16) NOT NULL,
    hash character varying(64) NOT NULL,
    user_id bigint NOT NULL,
    created_at bigint NOT NULL,
    revoked_at bigint
);
CREATE SEQUENCE public.tokens_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.tokens_id_seq OWNED BY public.tokens.id;
CREATE TABLE public.users (
    id bigint NOT NULL,
    public_id character varying(32) NOT NULL,
    project_id bigint,
    name character varying(63) NOT NULL COLLATE pg_catalog."C",
    role character varying(16) NOT NULL,
    created_at bigint NOT NULL,
    removed_at bigint,
    CONSTRAINT ck_users_global_has_no_project CHECK ((((role)::text = 'global_admin'::text) = (project_id IS NULL)))
);
CREATE SEQUENCE public.users_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.users_id_seq OWNED BY public.users.id;
ALTER TABLE ONLY public.projects ALTER COLUMN id SET DEFAULT nextval('public.projects_id_seq'::regclass);
ALTER TABLE ONLY public.tokens ALTER COLUMN id SET DEFAULT nextval('public.tokens_id_seq'::regclass);
ALTER TABLE ONLY public.users ALTER COLUMN id SET DEFAULT nextval('public.users_id_seq'::regclass);
INSERT INTO public.alembic_version VALUES ('0001');
INSERT INTO public.platform VALUES ('started', '2026-01-01T00:00:00+00:00');
INSERT INTO public.projects VALUES (1, 'default', 1767225600000000);
INSERT INTO public.projects VALUES (2, 'vision', 1767225600000001);
INSERT INTO public.tokens VALUES (1, 'bcdfghjkmnpq', 'not-a-hash', 2, 1767225600000000, NULL);
INSERT INTO public.users VALUES (1, 'user-2345', NULL, 'admin', 'global_admin', 1767225600000000, NULL);
INSERT INTO public.users VALUES (2, 'user-6789', 2, 'dana', 'admin', 1767225600000000, NULL);
SELECT pg_catalog.setval('public.projects_id_seq', 1, false);
SELECT pg_catalog.setval('public.tokens_id_seq', 1, false);
SELECT pg_catalog.setval('public.users_id_seq', 1, false);
ALTER TABLE ONLY public.alembic_version
    ADD CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num);
ALTER TABLE ONLY public.platform
    ADD CONSTRAINT pk_platform PRIMARY KEY (key);
ALTER TABLE ONLY public.projects
    ADD CONSTRAINT pk_projects PRIMARY KEY (id);
ALTER TABLE ONLY public.tokens
    ADD CONSTRAINT pk_tokens PRIMARY KEY (id);
ALTER TABLE ONLY public.users
    ADD CONSTRAINT pk_users PRIMARY KEY (id);
ALTER TABLE ONLY public.projects
    ADD CONSTRAINT uq_projects_name UNIQUE (name);
ALTER TABLE ONLY public.tokens
    ADD CONSTRAINT uq_tokens_lookup UNIQUE (lookup);
ALTER TABLE ONLY public.users
    ADD CONSTRAINT uq_users_public_id UNIQUE (public_id);
CREATE INDEX ix_tokens_user_id ON public.tokens USING btree (user_id);
CREATE UNIQUE INDEX uq_users_global_admin ON public.users USING btree (role) WHERE ((role)::text = 'global_admin'::text);
CREATE UNIQUE INDEX uq_users_project_id_name ON public.users USING btree (project_id, name) WHERE (removed_at IS NULL);
ALTER TABLE ONLY public.tokens
    ADD CONSTRAINT fk_tokens_user_id FOREIGN KEY (user_id) REFERENCES public.users(id);
ALTER TABLE ONLY public.users
    ADD CONSTRAINT fk_users_project_id FOREIGN KEY (project_id) REFERENCES public.projects(id);
